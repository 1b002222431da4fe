import { join } from 'node:path';
import type { PortPlan } from './port-plan';
import { brokerKeysOf, databaseUrlOf, type DevelopmentSecrets } from './secrets';
import type { AppSpec } from './supervised-app';

export const APP_NAMES = ['gateway', 'batch-worker', 'video-worker', 'credentials', 'auth'] as const;

export const SANDBOX_NAME = 'sandbox-provider';

export interface DevelopmentPlan {
  readonly root: string;
  readonly stateFolder: string;
  /** The environment of `up`; its values have precedence over the defaults here. */
  readonly environment: NodeJS.ProcessEnv;
  readonly serviceUrls: Readonly<Record<'DATABASE_URL' | 'AMQP_URL' | 'REDIS_URL', string>>;
  readonly ports: PortPlan;
  readonly secrets: DevelopmentSecrets;
  readonly catalogPath: string;
}

/** Variables for a single app; the others run without them even if the caller's environment has them. */
const ownerOf = { CREDENTIALS_KEYRING: 'credentials', TOKEN_SIGNING_KEYS: 'auth' } as const;

/**
 * Returns the environment of every child: the caller's, the services', and the choices of `up`; on the broker it acts
 * as the command line.
 */
export function commonEnvironment(plan: DevelopmentPlan): NodeJS.ProcessEnv {
  const { environment, ports, secrets, serviceUrls, stateFolder, catalogPath } = plan;
  const chosen = {
    PORT: String(ports.gateway),
    LISTEN_ADDRESS: environment.LISTEN_ADDRESS || '127.0.0.1',
    PUBLIC_URL: environment.PUBLIC_URL || `http://127.0.0.1:${ports.gateway}`,
    CATALOG_PATH: catalogPath,
    BLOB_DIR: environment.BLOB_DIR || join(stateFolder, 'blobs'),
    SANDBOX_API_KEY: environment.SANDBOX_API_KEY || secrets.SANDBOX_API_KEY,
    DRAIN_DELAY_MS: environment.DRAIN_DELAY_MS || '0',
  };
  const { CREDENTIALS_KEYRING: _keyring, TOKEN_SIGNING_KEYS: _signingKeys, ...rest } = environment;
  return { ...rest, ...serviceUrls, ...chosen, ...brokerKeysOf('cli', secrets) };
}

/** The five apps and the sandbox provider, each with the environment it runs in. */
export function appSpecs(plan: DevelopmentPlan): AppSpec[] {
  const common = commonEnvironment(plan);
  const apps = APP_NAMES.map((name) => {
    const own: NodeJS.ProcessEnv = {
      HEALTH_PORT: String(plan.ports.health[name]),
      DATABASE_URL: databaseUrlOf(name, plan.serviceUrls.DATABASE_URL, plan.secrets),
      ...brokerKeysOf(name, plan.secrets),
    };
    for (const [variable, owner] of Object.entries(ownerOf)) {
      const key = variable as keyof typeof ownerOf;
      if (owner === name) own[key] = plan.environment[key] || plan.secrets[key];
    }
    return {
      name,
      entry: join(plan.root, 'dist/apps', name, 'main.js'),
      folder: plan.root,
      environment: { ...common, ...own },
    };
  });
  const sandbox = {
    name: SANDBOX_NAME,
    entry: join(plan.root, 'dist/tools', SANDBOX_NAME, 'src/main.js'),
    folder: plan.root,
    environment: {
      ...plan.environment,
      SANDBOX_PORT: String(plan.ports.sandbox),
      SANDBOX_API_KEY: common.SANDBOX_API_KEY,
    },
  };
  return [sandbox, ...apps];
}
