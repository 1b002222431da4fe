import type { Type } from '@nestjs/common';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { queues, Secret } from '@libs/contracts';
import { consumeQueues } from '@libs/platform';
import { KnownQuestions, testIdentities } from '@libs/platform/testing';
import { KeysConsumer } from './keys/keys.consumer';
import { KeysService } from './keys/keys.service';
import { AuthorizationCodesConsumer } from './oauth/authorization-codes.consumer';
import { AuthorizationCodesService } from './oauth/authorization-codes.service';
import { ConsentSessionsConsumer } from './oauth/consent-sessions.consumer';
import { ConsentSessionsService } from './oauth/consent-sessions.service';
import { OrganizationsConsumer } from './organizations/organizations.consumer';
import { OrganizationsService } from './organizations/organizations.service';
import { TokenKeysService } from './tokens/token-keys.service';
import { TokensConsumer } from './tokens/tokens.consumer';
import { IssuersConsumer } from './workload-identity/issuers.consumer';
import { IssuersService } from './workload-identity/issuers.service';
import { PoliciesConsumer } from './workload-identity/policies.consumer';
import { PoliciesService } from './workload-identity/policies.service';
import { TokenExchangeService } from './tokens/token-exchange.service';
import { BudgetsConsumer } from './workspaces/budgets.consumer';
import { BudgetsService } from './workspaces/budgets.service';
import { MembersConsumer } from './workspaces/members.consumer';
import { MembersService } from './workspaces/members.service';
import { WorkspacesConsumer } from './workspaces/workspaces.consumer';
import { WorkspacesService } from './workspaces/workspaces.service';

describe('consumers of the auth queues', () => {
  const consumers = [
    KeysConsumer,
    OrganizationsConsumer,
    WorkspacesConsumer,
    BudgetsConsumer,
    MembersConsumer,
    AuthorizationCodesConsumer,
    ConsentSessionsConsumer,
    IssuersConsumer,
    PoliciesConsumer,
    TokensConsumer,
  ];
  const services = [
    KeysService,
    OrganizationsService,
    WorkspacesService,
    BudgetsService,
    MembersService,
    AuthorizationCodesService,
    ConsentSessionsService,
    IssuersService,
    PoliciesService,
    TokenKeysService,
    TokenExchangeService,
  ];

  /** Registers the handlers as at boot, up to the point where the broker would be asked for. */
  async function register(controllers: typeof consumers): Promise<boolean> {
    const module = await Test.createTestingModule({
      controllers,
      providers: services.map((provide: Type) => ({ provide, useValue: {} })),
    }).compile();
    const app = module.createNestApplication(new FastifyAdapter(), { logger: false });
    let listens = false;
    const hybrid = {
      connectMicroservice: (options: Parameters<typeof app.connectMicroservice>[0]) => {
        app.connectMicroservice(options);
        return { listen: async () => void (listens = true) };
      },
    };
    const answering = { identity: testIdentities().auth, usedQuestions: new KnownQuestions() };
    const amqpUrl = new Secret('amqp://127.0.0.1');
    await consumeQueues(hybrid as never, { amqpUrl, queues: [queues.auth, queues.authExchanges], answering });
    return listens;
  }

  it('answer every contract of the queues exactly once', async () => {
    expect(await register(consumers)).toBe(true);
  });

  it.each(consumers)('are incomplete without %p', async (missing) => {
    const rest = consumers.filter((consumer) => consumer !== missing);
    await expect(register(rest)).rejects.toThrow(/has no handler/);
  });
});
