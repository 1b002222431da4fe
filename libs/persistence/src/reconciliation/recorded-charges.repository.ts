import { Injectable } from '@nestjs/common';
import { Database } from '../database';
import { ABANDONED_SQL, FAILED_SQL, ORPHANS_SQL, RECORDED_SQL, TOOLS_SQL } from './recorded-sql';

/** Days of UTC, `YYYY-MM-DD`, both included. */
export interface DayRange {
  readonly from: string;
  readonly to: string;
}

/** The number of prompt tokens from which calls of a model are priced as long. */
export interface LongPrompts {
  /** The provider's name. */
  readonly model: string;
  readonly from: number;
}

/** Calls of one day, model and price. Counts and amounts are exact decimal strings. */
export interface RecordedDay {
  readonly day: string;
  /** The provider's name. */
  readonly model: string;
  readonly tier: string;
  readonly isBatch: boolean;
  /**
   * Whether the prompt was priced as long. Null for calls of several turns if one of the turns may have been
   * long: turns are not recorded separately.
   */
  readonly isLong: boolean | null;
  readonly requests: string;
  /** Calls whose tokens the provider did not report completely. */
  readonly estimated: string;
  /** Including cached tokens and cache writes. */
  readonly promptTokens: string;
  readonly cachedTokens: string;
  readonly cacheWriteTokens: string;
  /** The part of the cache writes with a lifetime of one hour. */
  readonly cacheWrite1hTokens: string;
  readonly completionTokens: string;
  /** By list price, without tools that the gateway ran. */
  readonly costUsd: string;
  /** The part of `costUsd` for tools that the provider ran. */
  readonly toolsUsd: string;
  /** The most prompt and completion tokens of one request; null if every call had several turns. */
  readonly longestPrompt: string | null;
  readonly longestCompletion: string | null;
}

/** The cost of one tool that the provider ran, on one day and for one model. */
export interface RecordedToolDay {
  readonly day: string;
  /** The provider's name. */
  readonly model: string;
  /** Name of the tool in the catalogue; null for calls that were recorded without the names of their tools. */
  readonly tool: string | null;
  /** Exact decimal string. */
  readonly costUsd: string;
}

export interface CountedDay {
  readonly day: string;
  readonly model: string;
  readonly count: string;
}

export interface RecordedWork {
  readonly usage: readonly RecordedDay[];
  readonly tools: readonly RecordedToolDay[];
  /** Attempts that failed after the provider may have worked, by the catalogue's name of the model. */
  readonly failed: readonly CountedDay[];
  /** Calls whose gateway died, at any provider, by the requested model. */
  readonly abandoned: readonly CountedDay[];
  /** Lines of orders that the provider may have run and Sluice did not collect, by the provider's name of the model. */
  readonly orphans: readonly CountedDay[];
}

const LONGEST_SECONDS = 600;

/** Sums the recorded calls with the operator's own key at a provider, to compare them with its bill. */
@Injectable()
export class RecordedChargesRepository {
  constructor(private readonly database: Database) {}

  /** Reads one snapshot, and changes nothing. */
  async find(provider: string, { from, to }: DayRange, long: readonly LongPrompts[]): Promise<RecordedWork> {
    return this.database.transaction(async (session) => {
      await session.client.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
      await session.mayTake(LONGEST_SECONDS);
      await session.client.query(`SET LOCAL work_mem = '64MB'`);
      const values = [provider, from, to];
      return {
        usage: await session.rows<RecordedDay>({ sql: RECORDED_SQL, values: [...values, JSON.stringify(long)] }),
        tools: await session.rows<RecordedToolDay>({ sql: TOOLS_SQL, values }),
        failed: await session.rows<CountedDay>({ sql: FAILED_SQL, values }),
        abandoned: await session.rows<CountedDay>({ sql: ABANDONED_SQL, values: [from, to] }),
        orphans: await session.rows<CountedDay>({ sql: ORPHANS_SQL, values }),
      };
    });
  }
}
