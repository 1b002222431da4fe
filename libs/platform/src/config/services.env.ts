import { Secret } from '@libs/contracts';
import { LOG_LEVELS, type LogLevel } from '../logging/log-levels';
import { IsOptional } from 'class-validator';
import { BROKER_PRIVATE_KEYS, BROKER_PUBLIC_KEYS } from './broker-key-forms';
import { Int, OneOf, Port, PublicUrl, SecretText, SecretUrl, Text } from './env-decorators';

/** The variables of every app. An app's own env class extends this one and gives `HEALTH_PORT` its default. */
export class ServicesEnv {
  @SecretUrl(['postgres', 'postgresql'])
  DATABASE_URL: Secret = new Secret('postgres://postgres@127.0.0.1:5432/sluice');

  @SecretUrl(['redis', 'rediss'])
  REDIS_URL: Secret = new Secret('redis://127.0.0.1:6379');

  @SecretUrl(['amqp', 'amqps'])
  AMQP_URL: Secret = new Secret('amqp://guest:guest@127.0.0.1:5672/sluice');

  /** The process's own X25519 keys on the broker, the current one first. Every app needs its own. */
  @IsOptional()
  @SecretText({ expected: 'one or two private keys as `broker keys` makes them', pattern: BROKER_PRIVATE_KEYS })
  BROKER_PRIVATE_KEYS?: Secret;

  /**
   * The public keys of all apps on the broker, comma-separated as `name:key`. A name that occurs twice has two keys.
   */
  @IsOptional()
  @Text({ expected: 'public keys such as auth:KEY,gateway:KEY', pattern: BROKER_PUBLIC_KEYS, maxLength: 2_048 })
  BROKER_PUBLIC_KEYS?: string;

  /** The `<service>` name of the public API: fields, headers and keys contain it. */
  @Text({
    expected: 'a lower-case name of at most 40 letters, digits and hyphens that starts with a letter',
    pattern: /^[a-z][a-z0-9-]{0,39}$/,
  })
  SERVICE_NAME: string = 'sluice';

  @OneOf(LOG_LEVELS)
  LOG_LEVEL: LogLevel = 'info';

  /** Base URL of an OTLP/HTTP receiver of traces and metrics; if absent, none are sent. */
  @IsOptional()
  @PublicUrl(['http', 'https'])
  OTEL_EXPORTER_OTLP_ENDPOINT?: string;

  /** The address of this host at which its ports are opened; a pod has its own. */
  @Text({ expected: 'an IPv4 or IPv6 address', pattern: /^(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-fA-F:]{2,39})$/ })
  LISTEN_ADDRESS: string = '0.0.0.0';

  /** Port of health and metrics. */
  @Port()
  HEALTH_PORT: number = 0;

  /** How long an app continues to serve after a stop signal, so that load balancers can notice that it is not ready. */
  @Int({ min: 0, max: 60_000 })
  DRAIN_DELAY_MS: number = 5_000;

  /** Seconds that an app has after that to finish its work, before it closes its connections. */
  @Int({ min: 10, max: 3_600 })
  DRAIN_SECONDS: number = 25;

  @Text({
    expected: 'at most 64 letters, digits and . _ : - characters',
    pattern: /^[A-Za-z0-9._:-]{1,64}$/,
  })
  REDIS_KEY_PREFIX: string = 'sluice:';
}
