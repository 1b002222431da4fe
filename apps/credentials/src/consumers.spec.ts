import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { queues, Secret } from '@libs/contracts';
import { consumeQueues } from '@libs/platform';
import { KnownQuestions, testIdentities } from '@libs/platform/testing';
import { CredentialsConsumer } from './vault/credentials.consumer';
import { CredentialsService } from './vault/credentials.service';
import { IntakeKeys } from './vault/intake-keys';
import { KeyVerdictsService } from './vault/key-verdicts.service';
import { OpeningService } from './vault/opening.service';
import { RewrappingService } from './vault/rewrapping.service';
import { VaultConsumer } from './vault/vault.consumer';
import { WebhookSecretsConsumer } from './webhook-secrets/webhook-secrets.consumer';
import { WebhookSecretsService } from './webhook-secrets/webhook-secrets.service';

const services = [
  CredentialsService,
  IntakeKeys,
  KeyVerdictsService,
  OpeningService,
  RewrappingService,
  WebhookSecretsService,
];

type Consumer = typeof CredentialsConsumer | typeof VaultConsumer | typeof WebhookSecretsConsumer;

/** Registers the handlers as at boot, up to the point where the broker would be asked for. */
async function register(controllers: readonly Consumer[]): Promise<boolean> {
  const module = await Test.createTestingModule({
    controllers: [...controllers],
    providers: services.map((provide) => ({ provide, useValue: {} })),
  }).compile();
  const app = module.createNestApplication(new FastifyAdapter(), { logger: false });
  let listens = false;
  const hybrid = {
    connectMicroservice: (options: Parameters<typeof app.connectMicroservice>[0]) => {
      app.connectMicroservice(options);
      return { listen: async () => void (listens = true) };
    },
  };
  const answering = { identity: testIdentities().credentials, usedQuestions: new KnownQuestions() };
  const amqpUrl = new Secret('amqp://127.0.0.1');
  await consumeQueues(hybrid as never, { amqpUrl, queues: [queues.credentials], answering });
  return listens;
}

describe('consumers of the credentials queue', () => {
  it('answer each of its contracts exactly once', async () => {
    await expect(register([CredentialsConsumer, VaultConsumer, WebhookSecretsConsumer])).resolves.toBe(true);
  });

  it('are missed when one is left out', async () => {
    await expect(register([CredentialsConsumer])).rejects.toThrow('credentials.open-credential has no handler');
  });
});
