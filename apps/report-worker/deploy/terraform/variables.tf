variable "name" {
  description = "Name of the queue; the dead-letter queue, the policy and the alarms are named after it."
  type        = string
  default     = "report-jobs"
}

variable "bucket" {
  description = "Name of the bucket for finished reports, unique in all of S3."
  type        = string
}

variable "prefix" {
  description = "Where in the bucket: empty, or ending with a slash. As in REPORT_STORE."
  type        = string
  default     = "reports/"
}

variable "visibility_seconds" {
  description = "How long a received job stays hidden unless a heartbeat comes."
  type        = number
  default     = 120
}

variable "max_receive_count" {
  description = "Receives after which SQS itself moves a job to the dead-letter queue. Not below 10: a busy ledger gives jobs back."
  type        = number
  default     = 10

  validation {
    condition     = var.max_receive_count >= 3
    error_message = "Below 3, two lost answers send a healthy job to the dead-letter queue."
  }
}

variable "oldest_job_alarm_seconds" {
  description = "How long the oldest job may wait before somebody is told."
  type        = number
  default     = 3600
}

variable "places" {
  description = "Jobs that all workers together run at a time; more than twice as many hidden jobs raise an alarm."
  type        = number
  default     = 32
}

variable "alarm_topic_arn" {
  description = "SNS topic of the alarms; null: they are only shown."
  type        = string
  default     = null
}
