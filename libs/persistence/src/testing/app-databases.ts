import type { DataSource } from 'typeorm';
import { APP_NAMES, type AppName } from '@libs/contracts';
import { createDataSource } from '../data-source';
import { Database } from '../database';
import { appUrlOf, createTestDatabase } from './test-database';

const CONNECT_TIMEOUT_MS = 20_000;

/** A database of a spec, with a connection pool for its owner and for the login of each app. */
export class AppDatabases {
  readonly #sources: DataSource[] = [];

  private constructor(
    readonly url: string,
    private readonly drop: () => Promise<void>,
  ) {}

  static async create(): Promise<AppDatabases> {
    const created = await createTestDatabase({ logins: true });
    return new AppDatabases(created.url, () => created.drop());
  }

  /** Connects to a URL until `close`. */
  async connect(url = this.url): Promise<Database> {
    const source = await createDataSource({ url, poolSize: 3, connectTimeoutMs: CONNECT_TIMEOUT_MS }).initialize();
    this.#sources.push(source);
    return new Database(source);
  }

  async connectApps(): Promise<Readonly<Record<AppName, Database>>> {
    const pairs = APP_NAMES.map(async (app) => [app, await this.connect(appUrlOf(app, this.url))] as const);
    return Object.fromEntries(await Promise.all(pairs)) as Record<AppName, Database>;
  }

  /** Closes the last connection that was made. */
  async disconnectLast(): Promise<void> {
    await this.#sources.pop()!.destroy();
  }

  async close(): Promise<void> {
    await Promise.all(this.#sources.map((source) => source.destroy()));
    await this.drop();
  }
}
