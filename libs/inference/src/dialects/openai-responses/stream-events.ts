import { dataEvent, frameOf, type AnswerFrame } from '../../model/answer-frame';

/** Numbers the events of one stream from 0 and formats them as server-sent events. */
export class EventSink {
  #next = 0;
  #output: AnswerFrame[] = [];

  /** @param isBilled true if the fields contain a usage with a cost */
  emit(type: string, members: object, isBilled = false): void {
    const event = { type, sequence_number: this.#next, ...members };
    this.#next += 1;
    this.#output.push(frameOf(JSON.stringify(event), dataEvent(type, isBilled)));
  }

  /** Returns the events that were emitted since the last call. */
  take(): AnswerFrame[] {
    const output = this.#output;
    this.#output = [];
    return output;
  }
}
