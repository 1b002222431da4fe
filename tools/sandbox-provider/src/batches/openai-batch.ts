import { nextId, unixSeconds } from '../http/ids';
import { isObject, type JsonObject } from '../http/json-members';
import { parseModelName } from '../behaviours/model-behaviour';
import { errorValue, SandboxError } from '../http/sandbox-error';
import { readBatchInput, type BatchInputError, type BatchLine } from './batch-input';
import { answerLine, pause, runLines } from './line-run';
import type { Behaviour } from '../behaviours/model-behaviour';
import type { Files } from '../files/files';
import type { Handle } from '../http/reply';

type Status =
  | 'validating'
  | 'failed'
  | 'in_progress'
  | 'finalizing'
  | 'completed'
  | 'expired'
  | 'cancelling'
  | 'cancelled';

export interface BatchOrder {
  readonly endpoint: string;
  readonly inputFileId: string;
  readonly metadata: JsonObject | null;
}

const WINDOW_SECONDS = 86_400;
const UNRUN_LINES = {
  expired: {
    code: 'batch_expired',
    message: 'This request could not be executed before the completion window expired.',
  },
  cancelled: { code: 'batch_cancelled', message: 'This batch was cancelled before this request was executed.' },
};

/** A batch of the OpenAI batch API, from validation to its output files. */
export class OpenaiBatch {
  readonly id = nextId('batch_');
  private status: Status = 'validating';
  /** When each status was reached, Unix seconds. */
  private readonly reachedAt = new Map<Status, number>();
  private readonly createdAt = unixSeconds();
  private lines: readonly BatchLine[] = [];
  private errors: readonly BatchInputError[] = [];
  private model: string | null = null;
  private completed = 0;
  private failed = 0;
  private readonly output: string[] = [];
  private readonly errorOutput: string[] = [];
  private outputFileId: string | null = null;
  private errorFileId: string | null = null;
  private isAbandoned = false;

  constructor(
    private readonly order: BatchOrder,
    private readonly files: Files,
    private readonly handle: Handle,
    private readonly defaultDurationMs: number,
  ) {}

  /** Runs to the end; never rejects. */
  async run(): Promise<void> {
    try {
      await this.runThrough();
    } catch (error) {
      this.errors = [{ code: 'server_error', message: messageOf(error), param: null, line: null }];
      this.reach('failed');
    }
  }

  cancel(): void {
    if (this.isCancelling()) return;
    if (this.status !== 'validating' && this.status !== 'in_progress') {
      throw new SandboxError(409, 'This batch can no longer be cancelled', null, 'batch_not_cancellable');
    }
    this.reach('cancelling');
  }

  /** Stops a batch that can no longer be requested. */
  abandon(): void {
    this.isAbandoned = true;
  }

  private async runThrough(): Promise<void> {
    await pause(0);
    const input = readBatchInput(this.files.get(this.order.inputFileId).bytes, this.order.endpoint);
    if (input.errors.length > 0) {
      this.errors = input.errors;
      return this.reach('failed');
    }
    this.lines = input.lines;
    const behaviour = this.readBehaviour();
    if (behaviour?.batchEnd === 'failed') {
      this.errors = [
        { code: 'sandbox_failure', message: '[sandbox] Asked for by model name', param: null, line: null },
      ];
      return this.reach('failed');
    }
    if (!this.isCancelling()) this.reach('in_progress');
    const expires = behaviour?.batchEnd === 'expired';
    await runLines({
      total: expires ? Math.floor(this.lines.length / 2) : this.lines.length,
      durationMs: behaviour?.batchMs ?? this.defaultDurationMs,
      runLine: (index) => this.runLine(index),
      isStopped: () => this.isAbandoned || this.isCancelling(),
    });
    if (!this.isAbandoned) await this.finish(expires);
  }

  private async finish(expires: boolean): Promise<void> {
    const isCancelled = this.isCancelling();
    if (isCancelled) this.refuseRest(UNRUN_LINES.cancelled);
    else if (expires) this.refuseRest(UNRUN_LINES.expired);
    if (!isCancelled) this.reach('finalizing');
    await pause(0);
    this.outputFileId = this.store(this.output, 'output');
    this.errorFileId = this.store(this.errorOutput, 'error');
    if (isCancelled) return this.reach('cancelled');
    this.reach(expires ? 'expired' : 'completed');
  }

  /** The first line's model name speaks for the batch. */
  private readBehaviour(): Behaviour | null {
    const model = this.lines[0]?.body.model;
    try {
      const named = parseModelName(model);
      this.model = named.name;
      return named.behaviour;
    } catch (error) {
      // A bad name is the line's own failure: it is answered when the line is run.
      if (error instanceof SandboxError) return null;
      throw error;
    }
  }

  private async runLine(index: number): Promise<void> {
    const line = this.lines[index];
    if (!line) return;
    const answer = await this.answer(line);
    if (answer.kind === 'fault') {
      const message = `[sandbox] The model name asked for the fault ${answer.name}`;
      this.refuse(line, { code: 'sandbox_fault', message });
      return;
    }
    const response = { status_code: answer.status, request_id: nextId('req_'), body: answer.body };
    const text = JSON.stringify({ id: nextId('batch_req_'), custom_id: line.customId, response, error: null });
    if (answer.status < 400) {
      this.completed += 1;
      this.output.push(text);
    } else {
      this.failed += 1;
      this.errorOutput.push(text);
    }
  }

  private async answer(line: BatchLine): ReturnType<typeof answerLine> {
    try {
      return await answerLine(this.handle, line.body);
    } catch (error) {
      if (!(error instanceof SandboxError)) throw error;
      return { kind: 'answer', status: error.status, body: errorValue('openai', error) };
    }
  }

  private refuseRest(error: { code: string; message: string }): void {
    const done = this.completed + this.failed;
    for (const line of this.lines.slice(done)) this.refuse(line, error);
  }

  private refuse(line: BatchLine, error: { code: string; message: string }): void {
    this.failed += 1;
    const id = nextId('batch_req_');
    this.errorOutput.push(JSON.stringify({ id, custom_id: line.customId, response: null, error }));
  }

  private store(lines: readonly string[], kind: string): string | null {
    if (lines.length === 0) return null;
    return this.files.add(`${this.id}_${kind}.jsonl`, 'batch_output', Buffer.from(`${lines.join('\n')}\n`)).id;
  }

  private isCancelling(): boolean {
    return this.status === 'cancelling';
  }

  private reach(status: Status): void {
    this.status = status;
    this.reachedAt.set(status, unixSeconds());
  }

  toJSON(): object {
    const at = (status: Status): number | null => this.reachedAt.get(status) ?? null;
    return {
      id: this.id,
      object: 'batch',
      endpoint: this.order.endpoint,
      model: this.model,
      errors: this.errors.length === 0 ? null : { object: 'list', data: this.errors },
      input_file_id: this.order.inputFileId,
      completion_window: '24h',
      status: this.status,
      output_file_id: this.outputFileId,
      error_file_id: this.errorFileId,
      created_at: this.createdAt,
      in_progress_at: at('in_progress'),
      expires_at: this.createdAt + WINDOW_SECONDS,
      finalizing_at: at('finalizing'),
      completed_at: at('completed'),
      failed_at: at('failed'),
      expired_at: at('expired'),
      cancelling_at: at('cancelling'),
      cancelled_at: at('cancelled'),
      request_counts: { total: this.lines.length, completed: this.completed, failed: this.failed },
      metadata: this.order.metadata,
    };
  }
}

function messageOf(error: unknown): string {
  return error instanceof SandboxError ? error.message : 'The batch could not be run';
}

export function readMetadata(value: unknown): JsonObject | null {
  if (value === undefined || value === null) return null;
  if (!isObject(value)) throw new SandboxError(400, "'metadata' must be an object", 'metadata');
  return value;
}
