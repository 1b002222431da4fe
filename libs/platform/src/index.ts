export { BlobStore, type ByteRange } from './blobs/blob-store';
export { openBlobStore } from './blobs/open-blob-store';
export * from './config/env-decorators';
export { EnvError } from './config/env-error';
export { loadEnv } from './config/load-env';
export { ProviderCallerEnv } from './config/provider-caller.env';
export { ServicesEnv } from './config/services.env';
export { CredentialsClient, type CredentialsClientOptions } from './credentials/credentials-client';
export { Egress, type EgressOptions, type EgressRequest, type EgressResponse } from './egress/egress';
export type { ResolvedAddress } from './egress/resolved-address';
export { NO_FEED, type ChangeFeed } from './feeds/change-feed';
export { FeedOwner } from './feeds/feed-owner';
export { FeedOwnerModule } from './feeds/feed-owner.module';
export { FeedSource } from './feeds/feed-source';
export { Feeds } from './feeds/feeds';
export { startFeedOwner } from './feeds/start-feed-owner';
export { AppExceptionFilter } from './errors/app-exception.filter';
export { errorResponse, type ErrorResponse } from './errors/error-response';
export { fromHttpFramework } from './errors/foreign-errors';
export { startHealthServer, type HealthServer, type HealthServerOptions } from './health/health-server';
export { DrainSteps, type DrainStep } from './health/drain-steps';
export { EachAlone } from './health/each-alone';
export {
  runApp,
  type AppContext,
  type AppDefinition,
  type ProcessHost,
  type RunningApp,
  type RunOptions,
} from './health/lifecycle';
export { PeriodicTask, type PeriodicTaskOptions, type TaskRunner } from './health/periodic-task';
export { nestOptions, PlatformModule, startNestContext, withPlatform } from './health/platform.module';
export {
  Readiness,
  type CheckState,
  type ReadinessCheck,
  type ReadinessOptions,
  type ReadinessPhase,
  type ReadinessReport,
} from './health/readiness';
export { tcpCheck } from './health/tcp-check';
export { AppLogger, createLogger, type LogDestination, type LogFields, type LoggerOptions } from './logging/logger';
export { KeyDirectory, type KeyDirectoryOptions } from './keys/key-directory';
export { LOG_LEVELS, type LogLevel } from './logging/log-levels';
export { scrubLine } from './logging/scrub-line';
export {
  counter,
  durationHistogram,
  gauge,
  histogram,
  metricsRegistry,
  startProcessMetrics,
  type GaugeOptions,
  type HistogramOptions,
  type MetricOptions,
} from './telemetry/metrics';
export { noteOwnFault } from './telemetry/own-faults';
export { tracing, type SpanAttributes, type SpanRecord, type Tracing } from './telemetry/tracing';
export type { DurationSeries } from './telemetry/duration-histogram';
export { keyIdOf, seal, SealingKeyPair, type SealingTarget } from './sealing/sealing';
export { ProviderPlaces, type PlaceOwner, type PlaceRooms } from './shares/provider-places';
export { SharedPool, type Rooms } from './shares/shared-pool';
export { plainValidator, validateClosed, validateInstance, type ValidateOptions } from './validation/validate';
export * from './messaging';
