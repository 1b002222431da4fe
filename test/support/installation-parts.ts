import { rmSync } from 'node:fs';
import { join } from 'node:path';
import Redis from 'ioredis';
import { createTestDatabase, type TestDatabase } from '@libs/persistence/testing';
import { root } from '../../scripts/checkout';
import { createDemoOrganization } from '../../scripts/development/demo-organization';
import { ConnectedInstallation } from '../../tools/sluice/src/installation';
import { readSluiceEnv } from '../../tools/sluice/src/sluice.env';
import { startBroker, type InstallationBroker } from './broker';

/** The Redis of the tests; an installation has keys of its own in it. */
export const REDIS_URL = process.env.REDIS_URL ?? 'redis://127.0.0.1:6379';

const KEYS_PER_SCAN = 500;

export const APP_NAMES = ['auth', 'batch-worker', 'credentials', 'gateway', 'video-worker'] as const;
export type AppName = (typeof APP_NAMES)[number];

export interface InstallationOptions {
  /** The text of the catalogue file: see `catalogueOf`. */
  readonly catalogue: string;
  /** Default: all five. Who routes requests is given the credentials app too: without it none is routed. */
  readonly apps?: readonly AppName[];
  /** In addition to what every app is given; may replace it. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly environmentOf?: Readonly<Partial<Record<AppName, Readonly<Record<string, string>>>>>;
  /** Something to stand between the apps and a service: takes the service's URL, gives the one for the apps. */
  readonly between?: (url: string) => Promise<string>;
  /** Whether it has a broker of its own, for a test that ends it or reads its files. */
  readonly ownBroker?: boolean;
}

export interface Seed {
  readonly apiKey: string;
  readonly managementKey: string;
  readonly workspaceId: string;
}

export interface ServiceUrls {
  readonly database: string;
  readonly broker: string;
  readonly redis: string;
}

export function appsOf({ apps = APP_NAMES }: InstallationOptions): readonly AppName[] {
  const routes = apps.includes('gateway') || apps.includes('batch-worker');
  return routes ? [...new Set<AppName>([...apps, 'credentials'])] : apps;
}

export async function urlsForApps({ between }: InstallationOptions, urls: ServiceUrls): Promise<ServiceUrls> {
  if (between === undefined) return urls;
  const [database, broker, redis] = await Promise.all([urls.database, urls.broker, urls.redis].map(between));
  return { database: database!, broker: broker!, redis: redis! };
}

/** A broker and a database of its own, or neither. */
export async function startPlaces(
  folder: string,
  ownBroker: boolean,
): Promise<{ broker: InstallationBroker; testDatabase: TestDatabase }> {
  const starting = [startBroker(join(folder, 'rabbitmq'), ownBroker), createTestDatabase({ logins: true })] as const;
  try {
    const [broker, testDatabase] = await Promise.all(starting);
    return { broker, testDatabase };
  } catch (error) {
    const [broker, testDatabase] = starting;
    await Promise.allSettled([broker.then((one) => one.stop()), testDatabase.then((one) => one.drop())]);
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

export const entryOf = (app: AppName): string => join(root, 'dist/apps', app, 'main.js');

/** Deletes every key of Redis that begins with the prefix. */
export async function forgetRedisKeys(prefix: string): Promise<void> {
  const redis = new Redis(REDIS_URL, { lazyConnect: true });
  try {
    await redis.connect();
    let cursor = '0';
    do {
      const [next, keys] = await redis.scan(cursor, 'MATCH', `${prefix}*`, 'COUNT', KEYS_PER_SCAN);
      if (keys.length > 0) await redis.del(...keys);
      cursor = next;
    } while (cursor !== '0');
  } finally {
    redis.disconnect();
  }
}

/** Makes the demo workspace, in the environment of an operator. */
export async function plantSeed(environment: Readonly<Record<string, string>>): Promise<Seed> {
  const connected = new ConnectedInstallation(readSluiceEnv(environment));
  try {
    const seed = await createDemoOrganization(connected, await connected.bus());
    return { apiKey: seed.api_key, managementKey: seed.management_key, workspaceId: seed.workspace_id };
  } finally {
    await connected.close();
  }
}
