import { Inject, Module, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import {
  BatchLineViewsRepository,
  DelayedChargesRepository,
  GenerationContentsRepository,
  GenerationsRepository,
  SingleRunner,
} from '@libs/persistence';
import { AppLogger, KeyDirectory } from '@libs/platform';
import { AuthModule } from '../auth/auth.module';
import { GatewayEnv } from '../gateway.env';
import { AbandonedSweep } from './abandoned-sweep';
import { InferenceRouting } from '../routing/inference-routing';
import { BatchLineGenerations } from './batch-line-generations';
import { CallContents } from './call-contents';
import { ContentLog } from './content-log';
import { ContentRetention } from './content-retention';
import { DelayedCharges } from './delayed-charges';
import { DelayedSweep } from './delayed-sweep';
import { GenerationRecorder } from './generation-recorder';
import { GenerationsController } from './generations.controller';
import { GenerationsService } from './generations.service';
import { presentTermsOf } from './present-terms';
import { RoutingModule } from '../routing/routing.module';

/** The rows of calls: their holds, charges and contents, and the routes that show them. */
@Module({
  imports: [AuthModule, RoutingModule],
  controllers: [GenerationsController],
  providers: [
    {
      provide: GenerationRecorder,
      inject: [GenerationsRepository, KeyDirectory, AppLogger, DelayedCharges],
      useFactory: (repository: GenerationsRepository, keys: KeyDirectory, logger: AppLogger, delayed: DelayedCharges) =>
        new GenerationRecorder(repository, presentTermsOf(keys), logger.child(GenerationRecorder.name), { delayed }),
    },
    {
      provide: DelayedCharges,
      inject: [DelayedChargesRepository, AppLogger],
      useFactory: (repository: DelayedChargesRepository, logger: AppLogger) =>
        new DelayedCharges(repository, logger.child(DelayedCharges.name)),
    },
    {
      provide: DelayedSweep,
      inject: [GenerationsRepository, DelayedChargesRepository, AppLogger, SingleRunner],
      useFactory: (
        generations: GenerationsRepository,
        delayed: DelayedChargesRepository,
        logger: AppLogger,
        runner: SingleRunner,
      ) => new DelayedSweep(generations, delayed, logger.child(DelayedSweep.name), runner),
    },
    {
      provide: AbandonedSweep,
      inject: [GenerationsRepository, AppLogger, SingleRunner],
      useFactory: (repository: GenerationsRepository, logger: AppLogger, runner: SingleRunner) =>
        new AbandonedSweep(repository, logger.child(AbandonedSweep.name), runner),
    },
    {
      provide: GenerationsService,
      inject: [
        GenerationsRepository,
        InferenceRouting,
        GenerationContentsRepository,
        BatchLineViewsRepository,
        GatewayEnv,
      ],
      useFactory: (
        repository: GenerationsRepository,
        routing: InferenceRouting,
        contents: GenerationContentsRepository,
        lines: BatchLineViewsRepository,
        env: GatewayEnv,
      ) => {
        const nameOf = (slug: string): string | null => routing.providerName(slug);
        const ofBatches = new BatchLineGenerations(lines, nameOf, () => routing.catalogue());
        return new GenerationsService(repository, nameOf, isKept(env) ? contents : null, ofBatches);
      },
    },
    {
      provide: ContentLog,
      inject: [GenerationContentsRepository, AppLogger],
      useFactory: (repository: GenerationContentsRepository, logger: AppLogger) =>
        new ContentLog(repository, logger.child(ContentLog.name)),
    },
    {
      // Null if nothing is to be stored, so that no work is done for it.
      provide: CallContents,
      inject: [ContentLog, GatewayEnv],
      useFactory: (log: ContentLog, env: GatewayEnv) => (isKept(env) ? new CallContents(log) : null),
    },
    {
      provide: ContentRetention,
      inject: [GenerationContentsRepository, GatewayEnv, SingleRunner],
      useFactory: (repository: GenerationContentsRepository, env: GatewayEnv, runner: SingleRunner) =>
        new ContentRetention(repository, env.CONTENT_RETENTION_DAYS, runner),
    },
  ],
  exports: [GenerationRecorder, CallContents],
})
export class GenerationsModule implements OnApplicationBootstrap, OnModuleDestroy {
  constructor(
    @Inject(AbandonedSweep) private readonly sweep: AbandonedSweep,
    @Inject(DelayedSweep) private readonly delayed: DelayedSweep,
    @Inject(ContentLog) private readonly contents: ContentLog,
    @Inject(ContentRetention) private readonly retention: ContentRetention,
  ) {}

  /** Stored contents are deleted after their retention time, even after storing was turned off. */
  onApplicationBootstrap(): void {
    this.sweep.start();
    this.delayed.start();
    this.retention.start();
  }

  async onModuleDestroy(): Promise<void> {
    await Promise.all([this.sweep.stop(), this.delayed.stop(), this.retention.stop()]);
    await this.contents.flush();
  }
}

function isKept({ CONTENT_LOGGING: logging }: GatewayEnv): boolean {
  return logging === 'on';
}
