import { Inject, Module, type DynamicModule, type OnModuleInit } from '@nestjs/common';
import { CatalogueSource, InferenceEngine, NativeBatchCaller, ReplyBudget } from '@libs/inference';
import type { Principal } from '@libs/contracts';
import { Database, LastUses, OutboxRepository, PersistenceModule, POOL_SIZES } from '@libs/persistence';
import {
  BrokerConnection,
  BrokerIdentity,
  CredentialsClient,
  Feeds,
  KeyDirectory,
  MessageBus,
  MessagingModule,
  OutboxModule,
  Readiness,
} from '@libs/platform';
import { BatchKeys } from './batches/batch-keys';
import { BatchRunnerService } from './steps/batch-runner.service';
import { BatchStopperService } from './batches/batch-stopper.service';
import { BatchValidationService } from './steps/batch-validation.service';
import { BatchesConsumer } from './steps/batches.consumer';
import { FinalizerService } from './batches/finalizer.service';
import { HoldWatchService } from './batches/hold-watch.service';
import { LaneReporterService } from './batches/lane-reporter.service';
import { LineRunnerService } from './batches/line-runner.service';
import { ManagedLaneService } from './batches/managed-lane.service';
import { PartitionKeeperService } from './batches/partition-keeper.service';
import { SweeperService } from './steps/sweeper.service';
import { BatchScalingService } from './scaling/batch-scaling.service';
import { NativeChoiceService } from './native/native-choice.service';
import { NativeCollectionService } from './native/native-collection.service';
import { NativeFundsService } from './native/native-funds.service';
import { NativeLaneService } from './native/native-lane.service';
import { NativeRemovalService } from './native/native-removal.service';
import { NativeRunnerService } from './native/native-runner.service';
import { NativeSubmissionService } from './native/native-submission.service';
import type { BatchWorkerEnv } from './batch-worker.env';
import type { Inference } from './create-inference';

const APP = 'batch-worker';

/** Runs batches: validation, our own lane, finalizing, and the sweep that finds unfinished work. */
@Module({
  controllers: [BatchesConsumer],
  providers: [
    BatchRunnerService,
    BatchScalingService,
    BatchStopperService,
    BatchValidationService,
    FinalizerService,
    HoldWatchService,
    LaneReporterService,
    LineRunnerService,
    ManagedLaneService,
    NativeChoiceService,
    NativeCollectionService,
    NativeFundsService,
    NativeLaneService,
    NativeRemovalService,
    NativeRunnerService,
    NativeSubmissionService,
    PartitionKeeperService,
    SweeperService,
  ],
})
export class BatchWorkerModule implements OnModuleInit {
  static for(env: BatchWorkerEnv, inference: Inference): DynamicModule {
    const graceMs = env.KEY_GRACE_SECONDS * 1_000;
    return {
      module: BatchWorkerModule,
      imports: [
        PersistenceModule.forRoot({
          databaseUrl: env.DATABASE_URL,
          applicationName: APP,
          poolSize: POOL_SIZES[APP],
          byokFreeUsdPerMonth: env.BYOK_FREE_USD_PER_MONTH,
        }),
        MessagingModule.forRoot({
          amqpUrl: env.AMQP_URL,
          identity: BrokerIdentity.from(APP, env),
          serviceName: APP,
          follows: ['access', 'credentials'],
        }),
        OutboxModule.forRoot({ source: OutboxRepository }),
      ],
      providers: [
        {
          provide: CredentialsClient,
          inject: [MessageBus, Feeds, LastUses],
          useFactory: (bus: MessageBus, feeds: Feeds, uses: LastUses) =>
            new CredentialsClient(bus, { feed: feeds.of('credentials'), graceMs, onUse: uses.note.bind(uses) }),
        },
        {
          provide: InferenceEngine,
          inject: [CredentialsClient],
          useFactory: (credentials: CredentialsClient) => inference.engineWith(credentials),
        },
        {
          provide: NativeBatchCaller,
          inject: [CredentialsClient],
          useFactory: (credentials: CredentialsClient) => inference.nativeWith(credentials),
        },
        { provide: CatalogueSource, useValue: inference.catalogue },
        { provide: ReplyBudget, useValue: inference.replies },
        {
          provide: BatchKeys,
          inject: [MessageBus, Feeds, LastUses],
          useFactory: (bus: MessageBus, feeds: Feeds, uses: LastUses) => {
            const onUse = ({ organizationId, keyHash }: Principal): void => uses.note(organizationId, keyHash);
            return new BatchKeys(new KeyDirectory(bus, { feed: feeds.of('access'), graceMs, onUse }));
          },
        },
      ],
    };
  }

  constructor(
    private readonly readiness: Readiness,
    private readonly database: Database,
    @Inject(BrokerConnection) private readonly broker: BrokerConnection,
  ) {}

  onModuleInit(): void {
    this.readiness.addCheck('postgresql', () => this.database.ping());
    this.readiness.addCheck('rabbitmq', () => this.broker.isConnected());
  }
}
