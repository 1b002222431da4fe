import { BoundedStore } from '../http/bounded-store';
import { parseJsonObject, textOf } from '../http/json-members';
import { jsonReply, type Call, type Handle, type Reply } from '../http/reply';
import { SandboxError } from '../http/sandbox-error';
import { OpenaiBatch, readMetadata } from './openai-batch';
import type { Files } from '../files/files';

const MAXIMUM_BATCHES = 1_000;

/** `/v1/batches`. */
export class OpenaiBatches {
  private readonly batches = new BoundedStore<OpenaiBatch>(MAXIMUM_BATCHES, (batch) => batch.abandon());

  /** `handles` maps the endpoints that a batch may name to the handlers of live calls. */
  constructor(
    private readonly files: Files,
    private readonly handles: ReadonlyMap<string, Handle>,
    private readonly defaultDurationMs: number,
  ) {}

  create(call: Call): Reply {
    const body = parseJsonObject(call.body);
    const endpoint = textOf(body.endpoint);
    const handle = this.handles.get(endpoint);
    if (!handle) throw new SandboxError(400, "'endpoint' is missing or has no batches", 'endpoint');
    if (body.completion_window !== '24h') {
      throw new SandboxError(400, "'completion_window' must be '24h'", 'completion_window');
    }
    const file = this.files.get(textOf(body.input_file_id));
    if (file.purpose !== 'batch') {
      throw new SandboxError(400, "'input_file_id' names a file whose purpose is not batch", 'input_file_id');
    }
    const order = { endpoint, inputFileId: file.id, metadata: readMetadata(body.metadata) };
    const batch = new OpenaiBatch(order, this.files, handle, this.defaultDurationMs);
    this.batches.set(batch.id, batch);
    void batch.run();
    return jsonReply(batch);
  }

  list({ query }: Call): Reply {
    const { entries, hasMore } = this.batches.page(limitIn(query), query.get('after'));
    const edges = { first_id: entries[0]?.id ?? null, last_id: entries.at(-1)?.id ?? null };
    return jsonReply({ object: 'list', data: entries, has_more: hasMore, ...edges });
  }

  show(call: Call): Reply {
    return jsonReply(this.get(call.id));
  }

  cancel(call: Call): Reply {
    const batch = this.get(call.id);
    batch.cancel();
    return jsonReply(batch);
  }

  close(): void {
    this.batches.clear();
  }

  private get(id: string): OpenaiBatch {
    const batch = this.batches.get(id);
    if (!batch) throw new SandboxError(404, 'No such batch', 'id');
    return batch;
  }
}

const MOST_LISTED = 100;

/** Returns the number of batches to list: `limit` of the query, from 1 to 100, else 20. */
export function limitIn(query: URLSearchParams): number {
  const limit = Number(query.get('limit') ?? 20);
  if (Number.isInteger(limit) && limit >= 1 && limit <= MOST_LISTED) return limit;
  throw new SandboxError(400, `'limit' must be from 1 to ${MOST_LISTED}`, 'limit');
}
