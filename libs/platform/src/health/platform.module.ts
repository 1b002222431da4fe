import { Global, Module, type DynamicModule, type NestApplicationOptions, type Type } from '@nestjs/common';
import { ServicesEnv } from '../config/services.env';
import { AppLogger } from '../logging/logger';
import { DrainSteps } from './drain-steps';
import { HealthRoutes } from './health-routes';
import type { AppContext } from './lifecycle';
import { Readiness } from './readiness';

/**
 * The objects that `runApp` creates, for every module of an app to inject: its env (as its own class and as
 * `ServicesEnv`), `AppLogger`, `Readiness`, `DrainSteps` and `HealthRoutes`.
 *
 * Global, because these values exist before the modules of the app and only `start` has them, while a module that needs
 * one is declared without it.
 */
@Global()
@Module({})
export class PlatformModule {
  static for({ env, logger, readiness, drainSteps, healthRoutes }: AppContext): DynamicModule {
    const EnvClass = env.constructor as Type<ServicesEnv>;
    const tokens = [...new Set([EnvClass, ServicesEnv])];
    return {
      module: PlatformModule,
      providers: [
        ...tokens.map((provide) => ({ provide, useValue: env })),
        { provide: AppLogger, useValue: logger },
        { provide: Readiness, useValue: readiness },
        { provide: DrainSteps, useValue: drainSteps },
        { provide: HealthRoutes, useValue: healthRoutes },
      ],
      exports: [...tokens, AppLogger, Readiness, DrainSteps, HealthRoutes],
    };
  }
}

/** Without `abortOnError: false`, Nest ends the process itself when startup fails, with less information. */
export function nestOptions(context: AppContext): NestApplicationOptions {
  return { logger: context.logger, abortOnError: false };
}
