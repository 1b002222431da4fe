import { nextId } from '../http/ids';
import { parseModelName, type Behaviour } from '../behaviours/model-behaviour';
import { errorValue, SandboxError } from '../http/sandbox-error';
import { answerLine, pause, runLines } from './line-run';
import type { Handle } from '../http/reply';
import type { JsonObject } from '../http/json-members';

const WINDOW_MS = 86_400_000;

export interface MessageBatchLine {
  readonly customId: string;
  readonly params: JsonObject;
}

/** An Anthropic message batch. After its end every line has exactly one result. */
export class MessageBatch {
  readonly id = nextId('msgbatch_');
  private readonly createdAtMs = Date.now();
  private endedAtMs: number | null = null;
  private cancelledAtMs: number | null = null;
  private readonly counts = { succeeded: 0, errored: 0, canceled: 0, expired: 0 };
  private readonly results: string[] = [];
  private isAbandoned = false;

  constructor(
    private readonly lines: readonly MessageBatchLine[],
    private readonly handle: Handle,
    private readonly defaultDurationMs: number,
  ) {}

  get hasEnded(): boolean {
    return this.endedAtMs !== null;
  }

  /** Runs to the end; never rejects. */
  async run(): Promise<void> {
    const behaviour = readBehaviour(this.lines[0]?.params.model);
    const expires = behaviour?.batchEnd === 'expired';
    await runLines({
      total: expires ? Math.floor(this.lines.length / 2) : this.lines.length,
      durationMs: behaviour?.batchMs ?? this.defaultDurationMs,
      runLine: (index) => this.runLine(index),
      isStopped: () => this.isAbandoned || this.cancelledAtMs !== null,
    });
    await pause(0);
    if (this.isAbandoned) return;
    const rest = this.cancelledAtMs === null ? 'expired' : 'canceled';
    for (const line of this.lines.slice(this.results.length)) this.add(line, rest, {});
    this.endedAtMs = Date.now();
  }

  cancel(): void {
    if (this.hasEnded) throw new SandboxError(400, 'The batch has ended and cannot be canceled');
    this.cancelledAtMs ??= Date.now();
  }

  /** Stops a batch that can no longer be requested. */
  abandon(): void {
    this.isAbandoned = true;
  }

  /** JSONL. */
  resultLines(): string {
    return this.results.map((line) => `${line}\n`).join('');
  }

  describe(origin: string): object {
    const { succeeded, errored, canceled, expired } = this.counts;
    const processing = this.lines.length - this.results.length;
    const open = this.cancelledAtMs === null ? 'in_progress' : 'canceling';
    return {
      id: this.id,
      type: 'message_batch',
      processing_status: this.hasEnded ? 'ended' : open,
      request_counts: { processing, succeeded, errored, canceled, expired },
      created_at: iso(this.createdAtMs),
      expires_at: iso(this.createdAtMs + WINDOW_MS),
      ended_at: iso(this.endedAtMs),
      cancel_initiated_at: iso(this.cancelledAtMs),
      archived_at: null,
      results_url: this.hasEnded ? `${origin}/v1/messages/batches/${this.id}/results` : null,
    };
  }

  private async runLine(index: number): Promise<void> {
    const line = this.lines[index];
    if (!line) return;
    try {
      const answer = await answerLine(this.handle, line.params);
      if (answer.kind === 'fault') throw new SandboxError(500, `[sandbox] The model name asked for ${answer.name}`);
      if (answer.status < 400) this.add(line, 'succeeded', { message: answer.body });
      else this.add(line, 'errored', { error: answer.body });
    } catch (error) {
      const shown = error instanceof SandboxError ? error : new SandboxError(500, 'The line could not be run');
      this.add(line, 'errored', { error: errorValue('anthropic', shown) });
    }
  }

  private add(line: MessageBatchLine, type: keyof typeof this.counts, members: object): void {
    this.counts[type] += 1;
    this.results.push(JSON.stringify({ custom_id: line.customId, result: { type, ...members } }));
  }
}

/** The first line's model name speaks for the batch; a bad one is that line's own failure. */
function readBehaviour(model: unknown): Behaviour | null {
  try {
    return parseModelName(model).behaviour;
  } catch (error) {
    if (error instanceof SandboxError) return null;
    throw error;
  }
}

function iso(atMs: number | null): string | null {
  return atMs === null ? null : new Date(atMs).toISOString();
}
