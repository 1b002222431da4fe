import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { CallerCredentials } from '@libs/inference';
import { BatchIntakeRepository, LedgerRepository, VideoIntakeRepository } from '@libs/persistence';
import { InferenceRouting } from '../routing/inference-routing';
import { Solvency } from './solvency';
import { SolvencyGuard } from './solvency.guard';
import { RoutingModule } from '../routing/routing.module';

/** Must be imported before the HttpModule: guards run in the order of their modules. */
@Module({
  imports: [RoutingModule],
  providers: [
    {
      provide: Solvency,
      inject: [LedgerRepository, CallerCredentials, InferenceRouting, BatchIntakeRepository, VideoIntakeRepository],
      useFactory: (
        ledger: LedgerRepository,
        credentials: CallerCredentials,
        routing: InferenceRouting,
        ...submissions: [BatchIntakeRepository, VideoIntakeRepository]
      ) => new Solvency({ ledger, credentials, catalogue: () => routing.catalogue(), submissions }),
    },
    { provide: APP_GUARD, useClass: SolvencyGuard },
  ],
})
export class SolvencyModule {}
