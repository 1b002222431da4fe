import {
  Inject,
  Module,
  type BeforeApplicationShutdown,
  type DynamicModule,
  type ModuleMetadata,
  type OnApplicationBootstrap,
  type Type,
} from '@nestjs/common';
import { allContracts, type Contract } from '@libs/contracts';
import { ConfirmingPublisher } from './confirming-publisher';
import { jobSender } from './job-sender';
import { OutboxRelay } from './outbox-relay';
import type { OutboxSource } from './outbox-source';

export interface OutboxModuleOptions {
  /** The provider of the rows. */
  readonly source: Type<OutboxSource> | typeof OutboxSource;
  /** One of these modules exports it; not needed if a global module does. */
  readonly imports?: ModuleMetadata['imports'];
  /** All contracts of the installation; tests pass their own. */
  readonly contracts?: readonly Contract[];
}

/**
 * Relays the outbox while the app runs. Code that writes outbox rows injects the OutboxRelay to wake it. All modules
 * that need it import one module that imports this one and exports it, so that a process has only one relay.
 */
@Module({})
export class OutboxModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(@Inject(OutboxRelay) private readonly relay: OutboxRelay) {}

  static forRoot({ source, imports = [], contracts = allContracts }: OutboxModuleOptions): DynamicModule {
    return {
      module: OutboxModule,
      imports,
      providers: [
        {
          provide: OutboxRelay,
          inject: [source, ConfirmingPublisher],
          useFactory: (rows: OutboxSource, publisher: ConfirmingPublisher) =>
            new OutboxRelay(rows, jobSender(publisher), contracts),
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
