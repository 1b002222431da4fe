import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { nestOptions, PlatformModule, type AppContext, type RunningApp } from '@libs/platform';
import type { GatewayEnv } from './gateway.env';
import { GatewayModule } from './gateway.module';
import { API_PREFIX, prepareEdge, ROOT_ROUTES } from './http/edge';
import { limitConnections, measureConnections } from './http/connections';
import { descriptorLimit, descriptorWarning } from './http/descriptor-limit';
import { createEdgeAdapter } from './http/edge-adapter';
import { EdgeErrorFilter } from './http/edge-error.filter';
import { drainRequests } from './http/drain-requests';
import { EdgePools } from './http/edge-pools';
import { measurePools } from './http/http-metrics';
import { InFlight } from './http/in-flight';
import { OpenConnections } from './http/open-connections';
import { UnreadAnswers } from './http/unread-answers';
import { memoryBudgetBytes } from './process-memory';

/**
 * Starts the gateway and defines how it stops: first no new connections and the running answers, then the charges for
 * them, then everything else.
 */
export async function start(context: AppContext<GatewayEnv>): Promise<RunningApp> {
  const { env, logger, readiness, drainSteps } = context;
  const pools = new EdgePools({
    inFlight: env.MAX_REQUESTS_IN_FLIGHT,
    arriving: env.MAX_BODIES_ARRIVING,
    memoryBytes: memoryBudgetBytes(env.MEMORY_BUDGET_MIB),
  });
  measurePools(pools);
  const inFlight = new InFlight(pools);
  const gateway = GatewayModule.for(env);
  const root = { ...gateway, imports: [PlatformModule.for(context), ...(gateway.imports ?? [])] };
  const adapter = createEdgeAdapter(env.TRUSTED_PROXIES);
  const options = { ...nestOptions(context), bodyParser: false };
  const app = await NestFactory.create<NestFastifyApplication>(root, adapter, options);
  app.setGlobalPrefix(API_PREFIX, { exclude: ROOT_ROUTES });
  app.useGlobalFilters(new EdgeErrorFilter(logger.child(EdgeErrorFilter.name)));
  prepareEdge(app, { readiness, inFlight, serviceName: env.SERVICE_NAME });
  const server = app.getHttpServer();
  const connections = new OpenConnections(server);
  drainSteps.add('requests', (signal) => drainRequests({ server, inFlight, connections }, signal));
  const limits = { most: env.MAX_CONNECTIONS, closable: pools.connections, trustedProxies: env.TRUSTED_PROXIES };
  measureConnections(limitConnections(server, limits));
  const needs = { maxConnections: env.MAX_CONNECTIONS, maxRequestsInFlight: env.MAX_REQUESTS_IN_FLIGHT };
  const warning = descriptorWarning(descriptorLimit(), needs);
  if (warning !== null) logger.warn(warning);
  const unread = new UnreadAnswers(inFlight);
  await app.listen(env.PORT, env.LISTEN_ADDRESS);
  return {
    stop: async () => {
      unread.stop();
      await app.close();
    },
  };
}
