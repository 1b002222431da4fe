import { Global, Module, type DynamicModule, type NestApplicationOptions, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ServicesEnv } from '../config/services.env';
import { AppLogger } from '../logging/logger';
import { DrainSteps } from './drain-steps';
import type { AppContext, RunningApp } from './lifecycle';
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

@Module({})
class AppRoot {}

/** The root to hand to NestFactory: the app's module with the platform beside it. */
export function withPlatform(module: Type<unknown>, context: AppContext): DynamicModule {
  return { module: AppRoot, imports: [PlatformModule.for(context), module] };
}

/** Without `abortOnError: false` Nest ends the process itself on a failed boot, and says less. */
export function nestOptions(context: AppContext): NestApplicationOptions {
  return { logger: context.logger, abortOnError: false };
}

/** An app without HTTP of its own. */
export async function startNestContext(module: Type<unknown>, context: AppContext): Promise<RunningApp> {
  const app = await NestFactory.createApplicationContext(withPlatform(module, context), nestOptions(context));
  return { stop: () => app.close() };
}
