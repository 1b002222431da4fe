import { setTimeout as delay } from 'node:timers/promises';
import { EnvError } from '../config/env-error';
import type { ServicesEnv } from '../config/services.env';
import { createLogger, type AppLogger, type LogDestination } from '../logging/logger';
import { metricsRegistry, startProcessMetrics } from '../telemetry/metrics';
import type { Telemetry } from '../telemetry/open-telemetry';
import { collectGarbage } from './collect-garbage';
import { DrainSteps } from './drain-steps';
import { HealthRoutes } from './health-routes';
import { startHealthServer, type HealthServer } from './health-server';
import { Readiness } from './readiness';
import { keepTickShape } from './tick-shape';

/** The objects with which an app is started. */
export interface AppContext<Env extends ServicesEnv = ServicesEnv> {
  readonly name: string;
  readonly env: Env;
  readonly logger: AppLogger;
  readonly readiness: Readiness;
  readonly drainSteps: DrainSteps;
  readonly healthRoutes: HealthRoutes;
}

export interface RunningApp {
  /** Closes connections and servers; called once, after the drain steps. */
  stop(): Promise<void>;
}

export interface AppDefinition<Env extends ServicesEnv> {
  readonly name: string;
  /** @throws EnvError */
  readonly readEnv: () => Env;
  /** Resolves when the app serves; a rejection ends the process. */
  readonly start: (context: AppContext<Env>) => Promise<RunningApp>;
}

/** The part of `process` that ends an app; replaced in tests. */
export interface ProcessHost {
  on(event: string, listener: (argument: unknown) => void): unknown;
  exit(code: number): void;
}

export interface RunOptions {
  readonly host?: ProcessHost;
  readonly logDestination?: LogDestination;
  /** Default: `DRAIN_SECONDS`. */
  readonly drainTimeoutMs?: number;
  readonly stopTimeoutMs?: number;
}

const STOP_TIMEOUT_MS = 5_000;
const TELEMETRY_TIMEOUT_MS = 2_000;

/**
 * Runs an app's process. It starts or prints one line that says why not (exit code 1). On SIGTERM or SIGINT it reports
 * not ready at once, continues to serve for `DRAIN_DELAY_MS` while load balancers notice, runs the shutdown steps (at
 * most `DRAIN_SECONDS`), stops (at most 5 s), sends the last telemetry (at most 2 s) and exits with 0, or 1 if a step
 * failed. A second signal ends it at once, and so does an uncaught error (both exit code 1).
 */
export async function runApp<Env extends ServicesEnv>(
  app: AppDefinition<Env>,
  options: RunOptions = {},
): Promise<void> {
  await new Lifecycle(app, options).boot();
}

class Lifecycle<Env extends ServicesEnv> {
  private readonly host: ProcessHost;
  private readonly readiness = new Readiness({ phase: 'starting' });
  private readonly drainSteps = new DrainSteps();
  private readonly healthRoutes = new HealthRoutes();
  private logger: AppLogger;
  private health: HealthServer | null = null;
  private running: RunningApp | null = null;
  private telemetry: Telemetry | null = null;
  private drainDelayMs = 0;
  private drainTimeoutMs = 0;
  private signalled = false;
  private ended = false;

  constructor(
    private readonly app: AppDefinition<Env>,
    private readonly options: RunOptions,
  ) {
    this.host = options.host ?? process;
    this.logger = createLogger({ app: app.name, level: 'info', destination: options.logDestination });
  }

  async boot(): Promise<void> {
    this.listenToProcess();
    keepTickShape();
    try {
      const env = this.app.readEnv();
      this.drainDelayMs = env.DRAIN_DELAY_MS;
      this.drainTimeoutMs = this.options.drainTimeoutMs ?? env.DRAIN_SECONDS * 1_000;
      this.logger = createLogger({
        app: this.app.name,
        level: env.LOG_LEVEL,
        destination: this.options.logDestination,
      });
      startProcessMetrics(this.app.name);
      this.telemetry = this.startTelemetry(env);
      const { readiness, drainSteps, healthRoutes, logger } = this;
      this.health = await startHealthServer({
        host: env.LISTEN_ADDRESS,
        port: env.HEALTH_PORT,
        readiness,
        metrics: metricsRegistry,
        routes: healthRoutes,
      });
      this.running = await this.app.start({ name: this.app.name, env, logger, readiness, drainSteps, healthRoutes });
      collectGarbage();
      this.readiness.serve();
      this.logger.log('Serving', { healthPort: this.health.port });
    } catch (error) {
      this.endBoot(error);
    }
  }

  /** The SDK is loaded only if it is used. */
  private startTelemetry({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, SERVICE_NAME }: Env): Telemetry | null {
    if (endpoint === undefined) return null;
    const { startOpenTelemetry } =
      require('../telemetry/open-telemetry') as typeof import('../telemetry/open-telemetry');
    return startOpenTelemetry({ endpoint, app: this.app.name, serviceName: SERVICE_NAME, logger: this.logger });
  }

  private listenToProcess(): void {
    const onSignal = (signal: string): void => void this.onSignal(signal).catch((error: unknown) => this.crash(error));
    this.host.on('SIGTERM', () => onSignal('SIGTERM'));
    this.host.on('SIGINT', () => onSignal('SIGINT'));
    this.host.on('uncaughtException', (error: unknown) => this.crash(error));
    this.host.on('unhandledRejection', (reason: unknown) => this.crash(reason));
  }

  private endBoot(error: unknown): void {
    const reason = error instanceof Error ? error.message : 'a value that is no Error was thrown';
    // The message of an EnvError is sufficient; its stack would only hide it.
    this.logger.fatal(`Boot failed: ${reason}`, error instanceof EnvError ? {} : { err: error });
    this.exit(1);
  }

  private crash(error: unknown): void {
    this.logger.fatal('Ended by an error that nobody caught', { err: error });
    this.exit(1);
  }

  private async onSignal(signal: string): Promise<void> {
    if (this.signalled) {
      this.logger.warn('Told to stop twice: ending at once', { signal });
      this.exit(1);
      return;
    }
    this.signalled = true;
    if (!this.running) {
      this.logger.log('Told to stop before it served', { signal });
      this.exit(0);
      return;
    }
    this.logger.log('Told to stop: draining', { signal, drainDelayMs: this.drainDelayMs });
    this.readiness.drain();
    await delay(this.drainDelayMs);
    const drained = await this.drainSteps.run(this.drainTimeoutMs, this.logger);
    const stopped = await this.stop(this.running);
    await this.telemetry?.stop(TELEMETRY_TIMEOUT_MS);
    this.logger.log('Stopped');
    this.exit(drained && stopped ? 0 : 1);
  }

  private async stop(running: RunningApp): Promise<boolean> {
    const timeoutMs = this.options.stopTimeoutMs ?? STOP_TIMEOUT_MS;
    const timer = new AbortController();
    try {
      const late = delay(timeoutMs, 'late' as const, { signal: timer.signal });
      const outcome = await Promise.race([running.stop().then(() => 'stopped' as const), late]);
      if (outcome === 'late') this.logger.warn('Stopping took too long and was cut', { timeoutMs });
      await this.health?.close();
      return true;
    } catch (error) {
      this.logger.error('Stopping failed', { err: error });
      return false;
    } finally {
      timer.abort();
    }
  }

  private exit(code: number): void {
    if (this.ended) return;
    this.ended = true;
    this.logger.flush();
    // A host that does not end with this call must not keep an open port.
    this.health
      ?.close()
      .catch((error: unknown) => this.logger.debug('The health port was closed already', { err: error }));
    this.host.exit(code);
  }
}
