import { spliceMembers, numberOf, objectOf, objectsOf, stringOf, type JsonObject } from '@libs/json';
import { toMistralEmbeddings } from '../dialects/mistral-embeddings/request-writer';
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

const PATH = '/batch/jobs';
const REFERENCE = 'gateway_reference';
const LISTED = 100;
const MOST_PAGES = 20;
const WINDOW_HOURS = 24;
const ENDED: ReadonlySet<string> = new Set(['SUCCESS', 'FAILED', 'TIMEOUT_EXCEEDED', 'CANCELLED']);
const ENDPOINTS: Readonly<Partial<Record<BatchedApi, string>>> = {
  conversation: '/v1/chat/completions',
  embeddings: '/v1/embeddings',
};
/** Functions that write the body of a line, for APIs where it differs from the dialect's own body. */
const WRITERS: Readonly<Partial<Record<BatchedApi, (body: Buffer) => Buffer>>> = { embeddings: toMistralEmbeddings };
const EMPTY = Buffer.alloc(0);

/** Mistral's batch jobs. The job names the model once for all lines. A job cannot be removed, but its files can. */
export class MistralBatches implements NativeBatches {
  readonly mostLines = 1_000_000;
  readonly apis = Object.keys(ENDPOINTS) as readonly BatchedApi[];
  readonly #rest: BatchRest;

  constructor(http: UpstreamHttp, manners: BatchManners) {
    this.#rest = new BatchRest(http, manners);
  }

  line(customId: string, body: Buffer, api: BatchedApi): Buffer {
    const own = (WRITERS[api] ?? withoutStream)(body);
    return framed(`{"custom_id":"${customId}","body":`, spliceMembers(own, { remove: ['model'] }));
  }

  upload({ reference, lines }: Pick<NativeOrder, 'reference' | 'lines'>, access: NativeBatchAccess): Promise<string> {
    return uploadFile(this.#rest, reference, lines, access);
  }

  async create({ reference, api, inputFileId }: NativeOrder, access: NativeBatchAccess): Promise<NativeJob> {
    const order = {
      input_files: [inputFileId],
      endpoint: ENDPOINTS[api],
      model: access.endpoint.upstreamModel,
      metadata: { [REFERENCE]: reference },
      timeout_hours: WINDOW_HOURS,
    };
    return jobOf(await this.#rest.existing(PATH, access, { body: Buffer.from(JSON.stringify(order)) }), access);
  }

  async find({ reference, sinceMs }: LostOrder, access: NativeBatchAccess): Promise<readonly NativeJob[]> {
    const since = encodeURIComponent(new Date(sinceMs - CLOCK_SKEW_MS).toISOString());
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const query = `?page=${page}&page_size=${LISTED}&created_after=${since}`;
      const jobs = objectsOf((await this.#rest.existing(PATH + query, access))['data']);
      const found = jobs.filter(({ metadata }) => objectOf(metadata)[REFERENCE] === reference);
      if (found.length > 0) return found.map((job) => jobOf(job, access));
      if (jobs.length < LISTED) break;
    }
    return [];
  }

  async poll(id: string, access: NativeBatchAccess): Promise<NativeJob | null> {
    const job = await this.#rest.object(`${PATH}/${encodeURIComponent(id)}`, access);
    return job && jobOf(job, access);
  }

  download(job: NativeJob, access: NativeBatchAccess): AsyncGenerator<NativeLine> {
    return downloadFiles(this.#rest, job.outputs, access);
  }

  async cancel(id: string, access: NativeBatchAccess): Promise<void> {
    const job = await this.poll(id, access);
    if (job?.state !== 'running') return;
    await this.#rest.callOff(`${PATH}/${encodeURIComponent(id)}/cancel`, access, EMPTY);
  }

  remove(
    { inputFileId, outputs }: Parameters<NativeBatches['remove']>[0],
    access: NativeBatchAccess,
  ): Promise<'deleted'> {
    return removeFiles(this.#rest, [inputFileId, ...outputs], access);
  }
}

function jobOf(job: JsonObject, { endpoint: { provider } }: NativeBatchAccess): NativeJob {
  const id = stringOf(job['id']);
  if (id === undefined) throw brokenAnswer(provider, 'a batch job has no id');
  const status = stringOf(job['status']) ?? '';
  return {
    id,
    state: ENDED.has(status) ? 'ended' : 'running',
    reference: stringOf(objectOf(job['metadata'])[REFERENCE]) ?? null,
    outputs: namesIn([job['output_file'], job['error_file']]),
    answers: numberOf(job['succeeded_requests']),
    failure: status === 'FAILED' ? 'FAILED' : null,
  };
}
