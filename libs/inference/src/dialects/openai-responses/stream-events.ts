import { dataEvent, frameOf, type AnswerFrame } from '../../model/answer-frame';

/** Numbers the events of one stream from 0 and makes server-sent events of them. */
export class EventSink {
  #next = 0;
  #output: AnswerFrame[] = [];

  /** @param isBilled whether the members have a usage with a cost */
  emit(type: string, members: object, isBilled = false): void {
    const event = { type, sequence_number: this.#next, ...members };
    this.#next += 1;
    this.#output.push(frameOf(JSON.stringify(event), dataEvent(type, isBilled)));
  }

  /** What was emitted since the last call. */
  take(): AnswerFrame[] {
    const output = this.#output;
    this.#output = [];
    return output;
  }
}
