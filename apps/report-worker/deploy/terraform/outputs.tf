output "REPORT_QUEUE" {
  value = aws_sqs_queue.jobs.url
}

output "REPORT_DLQ" {
  value = aws_sqs_queue.dead_letters.url
}

output "REPORT_STORE" {
  value = "s3://${aws_s3_bucket.reports.bucket}/${trimsuffix(var.prefix, "/")}"
}

output "worker_policy_arn" {
  value = aws_iam_policy.worker.arn
}
