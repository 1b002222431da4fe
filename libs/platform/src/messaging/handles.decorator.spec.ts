import { PATTERN_EXTRAS_METADATA, PATTERN_METADATA } from '@nestjs/microservices/constants';
import { call, job, queues } from '@libs/contracts';
import { Handles } from './handles.decorator';

class Question {
  text: string;
}

class Answer {
  length: number;
}

const measure = call({
  queue: queues.auth,
  name: 'auth.measure',
  timeoutMs: 1,
  askedBy: ['gateway'],
  repeat: 'harmless',
  request: Question,
  response: Answer,
});
const note = job({ queue: queues.batches, name: 'batches.note', payload: Question });

class Consumer {
  @Handles(measure)
  async measure({ text }: Question): Promise<Answer> {
    return { length: text.length };
  }

  @Handles(note)
  async note(): Promise<void> {}

  // @ts-expect-error an answer of another form does not compile
  @Handles(measure)
  async answersWrongly({ text }: Question): Promise<Question> {
    return { text };
  }

  // @ts-expect-error a payload of another form does not compile
  @Handles(note)
  async takesWrongly({ length }: Answer): Promise<number> {
    return length;
  }
}

describe(Handles.name, () => {
  it('tells the queue server which contract a method owns, and the developer where', () => {
    const method: unknown = Reflect.get(Consumer.prototype, 'measure');
    expect(Reflect.getMetadata(PATTERN_METADATA, method as object)).toEqual(['auth.measure']);
    expect(Reflect.getMetadata(PATTERN_EXTRAS_METADATA, method as object)).toEqual({
      contract: measure,
      where: 'Consumer.measure',
    });
  });
});
