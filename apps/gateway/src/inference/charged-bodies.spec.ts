import 'reflect-metadata';
import { BODY_RULE, type BodyRule } from '../http/streamed-body.decorator';
import { ChatCompletionsController } from './chat-completions.controller';
import { EmbeddingsController } from './embeddings.controller';
import { MessagesController } from './messages.controller';
import { ResponsesController } from './responses.controller';
import { TranscriptionsController } from './transcriptions.controller';

describe('a large body of a caller who can pay for nothing', () => {
  it.each([
    ['chat completions', ChatCompletionsController.prototype.create, true],
    ['responses', ResponsesController.prototype.create, true],
    ['messages', MessagesController.prototype.create, true],
    ['embeddings', EmbeddingsController.prototype.create, true],
    ['transcriptions', TranscriptionsController.prototype.create, true],
    ['counting tokens', MessagesController.prototype.count, false],
  ])('is refused unread where it would be charged: %s', (_route, handler, isCharged) => {
    const rule = Reflect.getMetadata(BODY_RULE, handler) as BodyRule;
    expect(rule.isCharged).toBe(isCharged);
  });
});
