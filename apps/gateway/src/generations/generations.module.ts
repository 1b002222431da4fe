import { Global, Inject, Module, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { GenerationsRepository } from '@libs/persistence';
import { AppLogger } from '@libs/platform';
import { AbandonedSweep } from './abandoned-sweep';
import { GenerationRecorder } from './generation-recorder';

/** Needs the (global) platform and persistence modules. */
@Global()
@Module({
  providers: [
    {
      provide: GenerationRecorder,
      inject: [GenerationsRepository, AppLogger],
      useFactory: (repository: GenerationsRepository, logger: AppLogger) =>
        new GenerationRecorder(repository, logger.child(GenerationRecorder.name)),
    },
    {
      provide: AbandonedSweep,
      inject: [GenerationsRepository, AppLogger],
      useFactory: (repository: GenerationsRepository, logger: AppLogger) =>
        new AbandonedSweep(repository, logger.child(AbandonedSweep.name)),
    },
  ],
  exports: [GenerationRecorder],
})
export class GenerationsModule implements OnApplicationBootstrap, OnModuleDestroy {
  constructor(@Inject(AbandonedSweep) private readonly sweep: AbandonedSweep) {}

  onApplicationBootstrap(): void {
    this.sweep.start();
  }

  onModuleDestroy(): void {
    this.sweep.stop();
  }
}
