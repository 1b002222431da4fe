import { Module, type DynamicModule, type ModuleMetadata } from '@nestjs/common';
import { MessageBus, ServicesEnv } from '@libs/platform';
import { IdempotencyModule } from '../idempotency/idempotency.module';
import { InferenceRouting } from '../routing/inference-routing';
import { PolicyNames } from '../policies/policy-names';
import { CurrentKeyController } from './current-key.controller';
import { KeyUsage } from './key-usage';
import { KeysController } from './keys.controller';
import { KeysService } from './keys.service';
import { RoutingModule } from '../routing/routing.module';

export interface KeysModuleOptions {
  /** One of these modules exports a provider of `KeyUsage`. */
  readonly imports: NonNullable<ModuleMetadata['imports']>;
}

@Module({})
export class KeysModule {
  static forRoot({ imports }: KeysModuleOptions): DynamicModule {
    return {
      module: KeysModule,
      imports: [...imports, IdempotencyModule, RoutingModule],
      controllers: [KeysController, CurrentKeyController],
      providers: [
        {
          provide: KeysService,
          useFactory: (bus: MessageBus, usage: KeyUsage, env: ServicesEnv, routing: InferenceRouting) =>
            new KeysService(bus, usage, env.SERVICE_NAME, new PolicyNames(() => routing.catalogue())),
          inject: [MessageBus, KeyUsage, ServicesEnv, InferenceRouting],
        },
      ],
    };
  }
}
