import {
  Inject,
  Module,
  type BeforeApplicationShutdown,
  type DynamicModule,
  type ModuleMetadata,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { allContracts, type Contract } from '@libs/contracts';
import { ConfirmingPublisher } from './confirming-publisher';
import { jobSender } from './job-sender';
import { OutboxRelay } from './outbox-relay';
import { OutboxSource } from './outbox-source';

export interface OutboxModuleOptions {
  /** One of these modules exports an OutboxSource; needless when a global module does. */
  readonly imports?: ModuleMetadata['imports'];
  /** Every contract of the house; tests pass their own. */
  readonly contracts?: readonly Contract[];
}

/** Relays the outbox while the app runs. Code that writes outbox rows injects the OutboxRelay to wake it. */
@Module({})
export class OutboxModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(@Inject(OutboxRelay) private readonly relay: OutboxRelay) {}

  static forRoot({ imports = [], contracts = allContracts }: OutboxModuleOptions = {}): DynamicModule {
    return {
      module: OutboxModule,
      global: true,
      imports,
      providers: [
        {
          provide: OutboxRelay,
          inject: [OutboxSource, ConfirmingPublisher],
          useFactory: (source: OutboxSource, publisher: ConfirmingPublisher) =>
            new OutboxRelay(source, jobSender(publisher), contracts),
        },
      ],
      exports: [OutboxRelay],
    };
  }

  onApplicationBootstrap(): void {
    this.relay.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.relay.stop();
  }
}
