import { findValue, numberOf, objectOf, objectsOf, stringOf, type JsonObject, JsonCursor } from '@libs/json';
import { BatchRest, type BatchManners } from './batch-rest';
import type {
  BatchedApi,
  LostOrder,
  NativeBatchAccess,
  NativeBatches,
  NativeJob,
  NativeLine,
  NativeOrder,
} from './native-batch';
import { CLOCK_SKEW_MS, framed, valueAt, withoutStream } from './batch-files';
import { brokenAnswer, errorInside, readComplaintAt } from '../wire/upstream-error';
import type { UpstreamHttp } from '../wire/upstream-http';

const PATH = '/messages/batches';
const LISTED = 100;
const MOST_LISTS = 20;
const COMMA = Buffer.from(',');
const EMPTY = Buffer.alloc(0);

/**
 * Anthropic's message batches. The lines are part of the order, and a batch stores no reference of ours. A lost order
 * is searched by its size and time, and recognized by the ids of its results.
 */
export class AnthropicBatches implements NativeBatches {
  readonly mostLines = 100_000;
  readonly apis: readonly BatchedApi[] = ['messages'];
  readonly #rest: BatchRest;

  constructor(http: UpstreamHttp, manners: BatchManners) {
    this.#rest = new BatchRest(http, manners);
  }

  line(customId: string, body: Buffer): Buffer {
    return framed(`{"custom_id":"${customId}","params":`, withoutStream(body));
  }

  async create({ lines }: NativeOrder, access: NativeBatchAccess): Promise<NativeJob> {
    const listed = lines.flatMap((line, index) => (index === 0 ? [line] : [COMMA, line]));
    const body = Buffer.concat([Buffer.from('{"requests":['), ...listed, Buffer.from(']}')]);
    return jobOf(await this.#rest.existing(PATH, access, { body }), access);
  }

  async find({ total, sinceMs }: LostOrder, access: NativeBatchAccess): Promise<readonly NativeJob[]> {
    const found: NativeJob[] = [];
    let after = '';
    for (let lists = 0; lists < MOST_LISTS; lists += 1) {
      const list = await this.#rest.existing(`${PATH}?limit=${LISTED}${after}`, access);
      const batches = objectsOf(list['data']);
      const recent = batches.filter((batch) => createdAtMs(batch) >= sinceMs - CLOCK_SKEW_MS);
      found.push(...recent.filter((batch) => sizeOf(batch) === total).map((batch) => jobOf(batch, access)));
      const lastId = stringOf(list['last_id']);
      if (list['has_more'] !== true || lastId === undefined || recent.length < batches.length) break;
      after = `&after_id=${encodeURIComponent(lastId)}`;
    }
    return found;
  }

  async poll(id: string, access: NativeBatchAccess): Promise<NativeJob | null> {
    const batch = await this.#rest.object(`${PATH}/${encodeURIComponent(id)}`, access);
    return batch && jobOf(batch, access);
  }

  download({ id }: NativeJob, access: NativeBatchAccess): AsyncGenerator<NativeLine> {
    return this.#rest.lines(`${PATH}/${encodeURIComponent(id)}/results`, access, (line) => readResult(line, access));
  }

  async cancel(id: string, access: NativeBatchAccess): Promise<void> {
    const job = await this.poll(id, access);
    if (job?.state !== 'running') return;
    await this.#rest.callOff(`${PATH}/${encodeURIComponent(id)}/cancel`, access, EMPTY);
  }

  async remove({ id }: Parameters<NativeBatches['remove']>[0], access: NativeBatchAccess): Promise<'deleted'> {
    if (id !== null) await this.#rest.remove(`${PATH}/${encodeURIComponent(id)}`, access);
    return 'deleted';
  }
}

function jobOf(batch: JsonObject, { endpoint: { provider } }: NativeBatchAccess): NativeJob {
  const id = stringOf(batch['id']);
  if (id === undefined) throw brokenAnswer(provider, 'a batch has no id');
  const isEnded = batch['processing_status'] === 'ended';
  const answers = numberOf(objectOf(batch['request_counts'])['succeeded']);
  return { id, state: isEnded ? 'ended' : 'running', reference: null, outputs: [], answers, failure: null };
}

function sizeOf(batch: JsonObject): number {
  return Object.values(objectOf(batch['request_counts'])).reduce<number>((sum, n) => sum + (numberOf(n) ?? 0), 0);
}

/** Returns when the batch was created; infinity if unknown, so that it counts as recent. */
function createdAtMs(batch: JsonObject): number {
  const atMs = Date.parse(stringOf(batch['created_at']) ?? '');
  return Number.isNaN(atMs) ? Number.POSITIVE_INFINITY : atMs;
}

function readResult(line: Buffer, { endpoint: { provider } }: NativeBatchAccess): NativeLine | null {
  const customId = stringOf(valueAt(line, ['custom_id']));
  const type = stringOf(valueAt(line, ['result', 'type']));
  if (customId === undefined || type === undefined) return null;
  if (type === 'expired' || type === 'canceled') return { customId, kind: 'not-run' };
  if (type === 'succeeded') {
    return { customId, kind: 'answer', body: findValue(line, ['result', 'message']) ?? EMPTY };
  }
  const error = findValue(line, ['result', 'error']) ?? Buffer.from('null');
  return { customId, kind: 'failed', error: errorInside(provider, readComplaintAt(new JsonCursor(error), 0)) };
}
