/** Every variable an operator may set on a process of Sluice, and those of the images of the datastores. */
const known = new Set([
  'PORT',
  'HEALTH_PORT',
  'DATABASE_URL',
  'REDIS_URL',
  'AMQP_URL',
  'SERVICE_NAME',
  'PUBLIC_URL',
  'CATALOG_PATH',
  'CREDENTIALS_KEYRING',
  'TOKEN_SIGNING_KEYS',
  'TOKEN_EXCHANGE_REQUIRE_BEARER',
  'EGRESS_ALLOW_CIDRS',
  'BATCH_CONCURRENCY',
  'BATCH_SUBMISSIONS_PER_MINUTE',
  'BATCH_READS_PER_MINUTE',
  'DRAIN_DELAY_MS',
  'GATEWAY_REPLICAS',
  'MAX_REQUESTS_IN_FLIGHT',
  'REDIS_KEY_PREFIX',
  'BLOB_DIR',
  'BLOB_S3_URL',
  'LOG_LEVEL',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'SANDBOX_HOST',
  'SANDBOX_PORT',
  'SANDBOX_API_KEY',
  'POSTGRES_DB',
  'POSTGRES_USER',
  'POSTGRES_PASSWORD_FILE',
  'POSTGRES_HOST_AUTH_METHOD',
  'PGDATA',
  'RABBITMQ_LOGS',
]);

export function isKnownVariable(name: string): boolean {
  return known.has(name);
}
