import { numberOf, objectOf, objectsOf, stringOf, type JsonObject } from '@libs/json';
import { AppError } from '@libs/errors';
import { CLOCK_SKEW_MS, downloadFiles, framed, namesIn, removeFiles, uploadFile, withoutStream } from './batch-files';
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
import { brokenAnswer } from '../wire/upstream-error';
import type { UpstreamHttp } from '../wire/upstream-http';

/** Jobs per list request; the next constant limits the number of such requests. */
const LISTED = 100;
const MOST_LISTS = 20;
const REFERENCE = 'gateway_reference';
const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'expired', 'cancelled']);
/** Error code: the batches of the model that wait already hold as many tokens as the account may have waiting. */
const TOO_MUCH_NOW = 'token_limit_exceeded';
const EMPTY = Buffer.alloc(0);

export interface OpenAiBatchOptions extends BatchManners {
  /** The name of the endpoint in a batch and its lines, by API. An API that is absent cannot be batched. */
  readonly endpoints: Readonly<Partial<Record<BatchedApi, string>>>;
  readonly mostLines: number;
  readonly mostInputs?: number;
  /** True if the host refuses an order before it has processed the file. */
  readonly readsFilesFirst?: boolean;
}

/** States of a file that Azure has not processed yet, including the names of earlier versions. */
const UNREAD_FILE: ReadonlySet<unknown> = new Set(['notRunning', 'pending', 'running']);
const BROKEN_FILE: ReadonlySet<unknown> = new Set(['failed', 'canceled', 'error']);

/**
 * The batch API of OpenAI (`/files`, `/batches`), which Azure has too. A batch cannot be removed, but its files can.
 */
export class OpenAiBatches implements NativeBatches {
  readonly mostLines: number;
  readonly mostInputs: number | undefined;
  readonly apis: readonly BatchedApi[];
  readonly #rest: BatchRest;
  readonly #endpoints: OpenAiBatchOptions['endpoints'];
  readonly #readsFilesFirst: boolean;

  constructor(http: UpstreamHttp, options: OpenAiBatchOptions) {
    const { endpoints, mostLines, mostInputs, readsFilesFirst = false, ...manners } = options;
    this.#rest = new BatchRest(http, manners);
    this.#endpoints = endpoints;
    this.#readsFilesFirst = readsFilesFirst;
    this.apis = Object.keys(endpoints) as readonly BatchedApi[];
    this.mostLines = mostLines;
    this.mostInputs = mostInputs;
  }

  line(customId: string, body: Buffer, api: BatchedApi): Buffer {
    const head = `{"custom_id":"${customId}","method":"POST","url":"${this.#endpoints[api]}","body":`;
    return framed(head, withoutStream(body));
  }

  async upload({ reference, lines }: Pick<NativeOrder, 'reference' | 'lines'>, access: NativeBatchAccess) {
    return uploadFile(this.#rest, reference, lines, access);
  }

  async isReady(inputFileId: string, access: NativeBatchAccess): Promise<boolean> {
    if (!this.#readsFilesFirst) return true;
    const file = await this.#rest.object(`/files/${encodeURIComponent(inputFileId)}`, access);
    const status = file?.['status'];
    if (!BROKEN_FILE.has(status)) return !UNREAD_FILE.has(status);
    throw new AppError('unprocessable', 'The provider cannot read the requests', {
      internal: `${access.endpoint.provider.slug}: the file of an order is in the state ${String(status)}`,
    });
  }

  async create({ reference, api, inputFileId }: NativeOrder, access: NativeBatchAccess): Promise<NativeJob> {
    const order = {
      input_file_id: inputFileId,
      endpoint: this.#endpoints[api],
      completion_window: '24h',
      metadata: { [REFERENCE]: reference },
    };
    const body = Buffer.from(JSON.stringify(order));
    return jobOf(await this.#rest.existing('/batches', access, { body }), access);
  }

  async find({ reference, sinceMs }: LostOrder, access: NativeBatchAccess): Promise<readonly NativeJob[]> {
    let after = '';
    for (let lists = 0; lists < MOST_LISTS; lists += 1) {
      const list = await this.#rest.existing(`/batches?limit=${LISTED}${after}`, access);
      const batches = objectsOf(list['data']);
      const found = batches.filter(({ metadata }) => objectOf(metadata)[REFERENCE] === reference);
      if (found.length > 0) return found.map((batch) => jobOf(batch, access));
      const last = batches.at(-1);
      const lastId = stringOf(last?.['id']);
      // The list is sorted newest first: jobs older than the order cannot be the lost one.
      const isPast = (numberOf(last?.['created_at']) ?? 0) * 1_000 < sinceMs - CLOCK_SKEW_MS;
      if (list['has_more'] !== true || lastId === undefined || isPast) return [];
      after = `&after=${encodeURIComponent(lastId)}`;
    }
    return [];
  }

  async poll(id: string, access: NativeBatchAccess): Promise<NativeJob | null> {
    const batch = await this.#rest.object(`/batches/${encodeURIComponent(id)}`, access);
    return batch && jobOf(batch, access);
  }

  download(job: NativeJob, access: NativeBatchAccess): AsyncGenerator<NativeLine> {
    return downloadFiles(this.#rest, job.outputs, access);
  }

  async cancel(id: string, access: NativeBatchAccess): Promise<void> {
    const job = await this.poll(id, access);
    if (job?.state !== 'running') return;
    await this.#rest.callOff(`/batches/${encodeURIComponent(id)}/cancel`, access, EMPTY);
  }

  async remove(
    { inputFileId, outputs }: Parameters<NativeBatches['remove']>[0],
    access: NativeBatchAccess,
  ): Promise<'deleted' | 'unsupported'> {
    return removeFiles(this.#rest, [inputFileId, ...outputs], access);
  }
}

function jobOf(batch: JsonObject, { endpoint: { provider } }: NativeBatchAccess): NativeJob {
  const id = stringOf(batch['id']);
  if (id === undefined) throw brokenAnswer(provider, 'a batch has no id');
  const status = stringOf(batch['status']) ?? '';
  const [problem] = objectsOf(objectOf(batch['errors'])['data']);
  const failure = status === 'failed' ? (stringOf(problem?.['code']) ?? 'no reason given') : null;
  return {
    id,
    state: ENDED.has(status) ? 'ended' : 'running',
    reference: stringOf(objectOf(batch['metadata'])[REFERENCE]) ?? null,
    outputs: namesIn([batch['output_file_id'], batch['error_file_id']]),
    answers: numberOf(objectOf(batch['request_counts'])['completed']),
    failure,
    isTooMuchNow: failure === TOO_MUCH_NOW,
  };
}
