import { Logger } from '@nestjs/common';
import { NoteKeyVerdict, type NoteKeyVerdictRequest } from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { MessageBus } from '../messaging/message-bus';

/** How long routing may use its state from before a verdict; until then calls repeat the verdict. */
const KNOWN_FOR_MS = 1_000;
const MOST_KNOWN = 10_000;

/**
 * Reports to the credentials app whether providers accept keys. Calls do not wait for it: after a lost report, the next
 * call with the key reports again. Of many calls with one key within a second, only the first reports.
 */
export class KeyVerdicts {
  readonly #logger = new Logger(KeyVerdicts.name);
  /** Until when a verdict is not reported again, in milliseconds. */
  readonly #told = new Map<string, number>();

  constructor(
    private readonly bus: MessageBus,
    private readonly nowMs: () => number,
  ) {}

  note(request: NoteKeyVerdictRequest): void {
    const name = `${request.id} ${request.keyVersion} ${request.refusedWith}`;
    if ((this.#told.get(name) ?? 0) > this.nowMs()) return;
    // The oldest entry expires first, because all are kept for the same time.
    if (this.#told.size >= MOST_KNOWN) this.#told.delete(this.#told.keys().next().value!);
    this.#told.delete(name);
    this.#told.set(name, this.nowMs() + KNOWN_FOR_MS);
    this.bus.call(NoteKeyVerdict, request).catch((thrown: unknown) => {
      this.#told.delete(name);
      const { code } = AppError.from(thrown);
      this.#logger.warn(`What a provider said of credential ${request.id} could not be noted: ${code}`);
    });
  }
}
