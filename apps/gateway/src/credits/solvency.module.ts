import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { CallerCredentials, CatalogueSource } from '@libs/inference';
import { LedgerRepository } from '@libs/persistence';
import { Solvency } from './solvency';
import { SolvencyGuard } from './solvency.guard';

/** To be imported before the HttpModule: guards run in the order of their modules. Needs the (global) inference module. */
@Module({
  providers: [
    {
      provide: Solvency,
      inject: [LedgerRepository, CallerCredentials, CatalogueSource],
      useFactory: (ledger: LedgerRepository, credentials: CallerCredentials, source: CatalogueSource) =>
        new Solvency({ ledger, credentials, catalogue: () => source.current() }),
    },
    { provide: APP_GUARD, useClass: SolvencyGuard },
  ],
})
export class SolvencyModule {}
