import { BoundedStore } from '../http/bounded-store';
import { isObject, parseJsonObject, requiredListMember, textOf } from '../http/json-members';
import { jsonReply, type Call, type Handle, type Reply } from '../http/reply';
import { SandboxError } from '../http/sandbox-error';
import { limitIn } from './openai-batches';
import { MessageBatch, type MessageBatchLine } from './message-batch';

const MAXIMUM_BATCHES = 1_000;
const MAXIMUM_LINES = 100_000;

/** `/v1/messages/batches`. */
export class MessageBatches {
  private readonly batches = new BoundedStore<MessageBatch>(MAXIMUM_BATCHES, (batch) => batch.abandon());

  constructor(
    private readonly handle: Handle,
    private readonly defaultDurationMs: number,
  ) {}

  create(call: Call): Reply {
    const requests = requiredListMember(parseJsonObject(call.body), 'requests');
    if (requests.length > MAXIMUM_LINES) throw new SandboxError(400, `requests: at most ${MAXIMUM_LINES} are allowed`);
    const batch = new MessageBatch(readLines(requests), this.handle, this.defaultDurationMs);
    this.batches.set(batch.id, batch);
    void batch.run();
    return jsonReply(batch.describe(originOf(call)));
  }

  list(call: Call): Reply {
    const { entries, hasMore } = this.batches.page(limitIn(call.query), call.query.get('after_id'));
    const edges = { first_id: entries[0]?.id ?? null, last_id: entries.at(-1)?.id ?? null };
    return jsonReply({ data: entries.map((batch) => batch.describe(originOf(call))), has_more: hasMore, ...edges });
  }

  show(call: Call): Reply {
    return jsonReply(this.get(call.id).describe(originOf(call)));
  }

  cancel(call: Call): Reply {
    const batch = this.get(call.id);
    batch.cancel();
    return jsonReply(batch.describe(originOf(call)));
  }

  results(call: Call): Reply {
    const batch = this.get(call.id);
    if (!batch.hasEnded) throw new SandboxError(400, 'The batch has not ended, so it has no results yet');
    return { kind: 'body', status: 200, contentType: 'application/x-jsonl', body: batch.resultLines() };
  }

  remove(call: Call): Reply {
    const batch = this.get(call.id);
    if (!batch.hasEnded) throw new SandboxError(400, 'The batch has not ended: cancel it first');
    this.batches.delete(batch.id);
    return jsonReply({ id: batch.id, type: 'message_batch_deleted' });
  }

  close(): void {
    this.batches.clear();
  }

  private get(id: string): MessageBatch {
    const batch = this.batches.get(id);
    if (!batch) throw new SandboxError(404, 'No such message batch');
    return batch;
  }
}

function readLines(requests: readonly unknown[]): MessageBatchLine[] {
  const customIds = new Set<string>();
  return requests.map((request, index) => {
    const name = `requests.${index}`;
    if (!isObject(request)) throw new SandboxError(400, `${name}: must be an object`);
    const customId = textOf(request.custom_id);
    if (!/^[a-zA-Z0-9_-]{1,64}$/.test(customId)) {
      throw new SandboxError(400, `${name}.custom_id: must be 1 to 64 letters, digits, - or _`);
    }
    if (customIds.has(customId)) throw new SandboxError(400, `${name}.custom_id: is repeated`);
    customIds.add(customId);
    if (!isObject(request.params)) throw new SandboxError(400, `${name}.params: Field required`);
    return { customId, params: request.params };
  });
}

function originOf(call: Call): string {
  return `http://${call.headers.host ?? '127.0.0.1'}`;
}
