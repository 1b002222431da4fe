import { setTimeout as delay } from 'node:timers/promises';
import type { LoggerService } from '@nestjs/common';
import {
  GroupCommit,
  sqlStateOf,
  storeApart,
  type GenerationContentsRepository,
  type StoredContent,
} from '@libs/persistence';
import { counter, gauge } from '@libs/platform';
import { ContentBudget } from './content-budget';

/** A content that waits to be stored. */
export interface WaitingContent {
  /** Bytes taken from the budget; given back when the content is stored or dropped. */
  readonly bytes: number;
  /** Creates the content when it is stored, so that no caller waits for it. */
  readonly render: () => StoredContent;
}

const MOST_WAITING = 2_000;
const MOST_WAITING_BYTES = 64 * 1024 * 1024;
const MOST_ROWS = 16;
/** How long contents are collected for one statement. No call waits for it. */
const GATHER_MS = 50;
const TRIES = 3;
const RETRY_MS = 500;

const stored = counter({ name: 'sluice_generation_contents_stored_total', help: 'Contents of calls that were kept' });
const dropped = counter({
  name: 'sluice_generation_contents_dropped_total',
  help: 'Contents of calls that could not be kept',
  labelNames: ['reason'],
});

/**
 * Stores contents of calls in PostgreSQL in the background. They are less important than the calls themselves: contents
 * that do not fit into a limited memory, or that fail three times, are dropped and counted. No call ever waits.
 */
export class ContentLog {
  readonly budget = new ContentBudget(MOST_WAITING_BYTES);
  private readonly group = new GroupCommit<WaitingContent>({
    gatherMs: GATHER_MS,
    mostRows: MOST_ROWS,
    store: (contents) => this.store(contents),
  });

  constructor(
    private readonly repository: Pick<GenerationContentsRepository, 'store'>,
    private readonly logger: LoggerService,
    private readonly retryMs = RETRY_MS,
  ) {
    gauge({
      name: 'sluice_generation_contents_waiting',
      help: 'Contents of calls that wait to be stored',
      collect: (metric) => metric.set(this.group.waiting),
    });
  }

  /** Takes the bytes from the budget itself. */
  add(content: WaitingContent): void {
    if (this.group.waiting >= MOST_WAITING || !this.budget.take(content.bytes)) {
      dropped.inc({ reason: 'full' });
      return;
    }
    this.group.add(content);
  }

  /** Resolves when nothing waits any more. */
  flush(): Promise<void> {
    return this.group.flush();
  }

  private async store(group: readonly WaitingContent[]): Promise<void> {
    const rows: StoredContent[] = [];
    for (const content of group) {
      const row = this.rendered(content);
      if (row !== null) rows.push(row);
      // Yields between contents, because each may be large and other calls must not be delayed.
      await new Promise(setImmediate);
    }
    if (rows.length > 0) await this.storeRows(rows);
    for (const { bytes } of group) this.budget.giveBack(bytes);
  }

  private rendered({ render }: WaitingContent): StoredContent | null {
    try {
      return render();
    } catch (error) {
      dropped.inc({ reason: 'unreadable' });
      this.logger.warn('The content of a call could not be read', { err: error });
      return null;
    }
  }

  private async storeRows(rows: readonly StoredContent[]): Promise<void> {
    let waiting = rows;
    for (let attempt = 1; ; attempt += 1) {
      const {
        stored: parts,
        refused,
        stuck,
        failed,
      } = await storeApart(waiting, (some) => this.repository.store(some));
      stored.inc(parts.reduce((sum, part) => sum + part.rows.length, 0));
      for (const { row, error } of refused) this.drop(row, error);
      waiting = [...stuck.map(({ row }) => row), ...(failed?.rows ?? [])];
      if (waiting.length === 0) return;
      if (attempt === TRIES) break;
      await delay(this.group.isFlushing ? 0 : this.retryMs);
    }
    dropped.inc({ reason: 'database' }, waiting.length);
    this.logger.warn('Contents of calls could not be stored', { contents: waiting.length });
  }

  /** PostgreSQL would refuse it again. */
  private drop({ generationId }: StoredContent, error: unknown): void {
    dropped.inc({ reason: 'refused' });
    this.logger.warn('The content of a call was refused as invalid', { generationId, sqlState: sqlStateOf(error) });
  }
}
