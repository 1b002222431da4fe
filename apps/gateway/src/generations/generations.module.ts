import { Global, Inject, Module, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { GenerationsRepository } from '@libs/persistence';
import { AppLogger } from '@libs/platform';
import { AbandonedSweep } from './abandoned-sweep';
import { InferenceRouting } from '../inference/inference-routing';
import { GenerationRecorder } from './generation-recorder';
import { GenerationsController } from './generations.controller';
import { GenerationsService } from './generations.service';

/** Needs the (global) platform, persistence and inference modules. */
@Global()
@Module({
  controllers: [GenerationsController],
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
    {
      provide: GenerationsService,
      inject: [GenerationsRepository, InferenceRouting],
      useFactory: (repository: GenerationsRepository, routing: InferenceRouting) =>
        new GenerationsService(repository, (slug) => routing.providerName(slug)),
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
