import { Global, Module, type DynamicModule, type NestApplicationOptions, type Type } from '@nestjs/common';
import { ServicesEnv } from '../config/services.env';
import { AppLogger } from '../logging/logger';
import { DrainSteps } from './drain-steps';
import type { AppContext } from './lifecycle';
import { Readiness } from './readiness';

/**
 * What `runApp` made, for every module of an app to inject: its env (under its own class and under
 * `ServicesEnv`), `AppLogger`, `Readiness` and `DrainSteps`.
 */
@Global()
@Module({})
export class PlatformModule {
  static for({ env, logger, readiness, drainSteps }: AppContext): DynamicModule {
    const EnvClass = env.constructor as Type<ServicesEnv>;
    const tokens = [...new Set([EnvClass, ServicesEnv])];
    return {
      module: PlatformModule,
      providers: [
        ...tokens.map((provide) => ({ provide, useValue: env })),
        { provide: AppLogger, useValue: logger },
        { provide: Readiness, useValue: readiness },
        { provide: DrainSteps, useValue: drainSteps },
      ],
      exports: [...tokens, AppLogger, Readiness, DrainSteps],
    };
  }
}

/** Without `abortOnError: false` Nest ends the process itself on a failed boot, and says less. */
export function nestOptions(context: AppContext): NestApplicationOptions {
  return { logger: context.logger, abortOnError: false };
}
