# The queue of report jobs, its dead-letter queue, the bucket for finished reports, what the worker may do, and the alarms.
#
#   terraform init && terraform apply -var 'alarm_topic_arn=arn:aws:sns:…'

terraform {
  required_version = ">= 1.5"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.0"
    }
  }
}

locals {
  day_seconds = 24 * 60 * 60
}

resource "aws_sqs_queue" "dead_letters" {
  name = "${var.name}-dlq"

  # The longest that SQS offers. On a standard queue the clock runs on from the first send, so this must be longer than the
  # retention of the source.
  message_retention_seconds = 14 * local.day_seconds
  sqs_managed_sse_enabled   = true
}

resource "aws_sqs_queue" "jobs" {
  name = var.name

  # A slot of time until the next try, not the length of a job: heartbeats keep a running job hidden. It is how long a job
  # waits when its worker died.
  visibility_timeout_seconds = var.visibility_seconds

  message_retention_seconds = 7 * local.day_seconds
  receive_wait_time_seconds = 20
  sqs_managed_sse_enabled   = true

  # The worker dead-letters by itself, with the reason, at its last receive; this is the net below it. Every receive
  # counts, also those that a stop or a busy ledger gave back.
  redrive_policy = jsonencode({
    deadLetterTargetArn = aws_sqs_queue.dead_letters.arn
    maxReceiveCount     = var.max_receive_count
  })
}

# No other queue may use this one for its dead letters.
resource "aws_sqs_queue_redrive_allow_policy" "dead_letters" {
  queue_url = aws_sqs_queue.dead_letters.id
  redrive_allow_policy = jsonencode({
    redrivePermission = "byQueue"
    sourceQueueArns   = [aws_sqs_queue.jobs.arn]
  })
}

resource "aws_s3_bucket" "reports" {
  bucket = var.bucket
}

resource "aws_s3_bucket_public_access_block" "reports" {
  bucket                  = aws_s3_bucket.reports.id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_lifecycle_configuration" "reports" {
  bucket = aws_s3_bucket.reports.id

  # What a query found is needed until its report is drawn; a job that comes again later asks again.
  rule {
    id     = "extracts"
    status = "Enabled"
    filter {
      prefix = "${var.prefix}extracts/"
    }
    expiration {
      days = 30
    }
  }

  rule {
    id     = "unfinished-uploads"
    status = "Enabled"
    filter {}
    abort_incomplete_multipart_upload {
      days_after_initiation = 1
    }
  }
}

# To be attached to the role that the worker runs under.
resource "aws_iam_policy" "worker" {
  name   = "${var.name}-worker"
  policy = data.aws_iam_policy_document.worker.json
}

data "aws_iam_policy_document" "worker" {
  statement {
    sid = "Jobs"
    actions = [
      "sqs:GetQueueUrl",
      "sqs:GetQueueAttributes",
      "sqs:ReceiveMessage",
      "sqs:DeleteMessage",
      "sqs:ChangeMessageVisibility",
      # accepted jobs stand in the database and are sent from there
      "sqs:SendMessage",
    ]
    resources = [aws_sqs_queue.jobs.arn]
  }

  statement {
    sid = "DeadLetters"
    # a copy with the reason; the attributes are read once, to hold the two retentions against each other
    actions   = ["sqs:GetQueueUrl", "sqs:GetQueueAttributes", "sqs:SendMessage"]
    resources = [aws_sqs_queue.dead_letters.arn]
  }

  statement {
    sid       = "Reports"
    actions   = ["s3:GetObject", "s3:PutObject"]
    resources = ["${aws_s3_bucket.reports.arn}/${var.prefix}*"]
  }

  statement {
    sid = "ReportsThatAreNotThere"
    # without it S3 says "forbidden" where it means "not there"
    actions   = ["s3:ListBucket"]
    resources = [aws_s3_bucket.reports.arn]
  }
}

# Dead letters are work for a person: one is enough.
resource "aws_cloudwatch_metric_alarm" "dead_letters" {
  alarm_name          = "${var.name}-dead-letters"
  alarm_description   = "A report job was given up. See: effect-sqs dlq ls"
  namespace           = "AWS/SQS"
  metric_name         = "ApproximateNumberOfMessagesVisible"
  dimensions          = { QueueName = aws_sqs_queue.dead_letters.name }
  statistic           = "Maximum"
  period              = 60
  evaluation_periods  = 1
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarm_topic_arn == null ? [] : [var.alarm_topic_arn]
}

# Jobs wait longer than they may: too few workers, or none.
resource "aws_cloudwatch_metric_alarm" "oldest" {
  alarm_name          = "${var.name}-oldest-job"
  alarm_description   = "The oldest report job waits longer than ${var.oldest_job_alarm_seconds} s."
  namespace           = "AWS/SQS"
  metric_name         = "ApproximateAgeOfOldestMessage"
  dimensions          = { QueueName = aws_sqs_queue.jobs.name }
  statistic           = "Maximum"
  period              = 60
  evaluation_periods  = 5
  comparison_operator = "GreaterThanThreshold"
  threshold           = var.oldest_job_alarm_seconds
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarm_topic_arn == null ? [] : [var.alarm_topic_arn]
}

# Standard queues hand out at most about 120,000 at a time; far below that, so many hidden jobs mean workers that die.
resource "aws_cloudwatch_metric_alarm" "in_flight" {
  alarm_name          = "${var.name}-in-flight"
  alarm_description   = "More jobs are hidden than the workers have places for: workers die, or do not delete."
  namespace           = "AWS/SQS"
  metric_name         = "ApproximateNumberOfMessagesNotVisible"
  dimensions          = { QueueName = aws_sqs_queue.jobs.name }
  statistic           = "Minimum"
  period              = 300
  evaluation_periods  = 3
  comparison_operator = "GreaterThanThreshold"
  threshold           = 2 * var.places
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarm_topic_arn == null ? [] : [var.alarm_topic_arn]
}
