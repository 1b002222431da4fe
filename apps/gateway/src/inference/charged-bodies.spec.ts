import 'reflect-metadata';
import { BODY_RULE, type BodyRule } from '../http/streamed-body.decorator';
import { ChatCompletionsController } from './chat-completions.controller';
import { EmbeddingsController } from './embeddings.controller';
import { MessagesController } from './messages.controller';
import { ResponsesController } from './responses.controller';
import { TranscriptionsController } from './transcriptions.controller';

describe('a large body of a caller who can pay for nothing', () => {
  it.each([
    ['chat completions', ChatCompletionsController, 'create', true],
    ['responses', ResponsesController, 'create', true],
    ['messages', MessagesController, 'create', true],
    ['embeddings', EmbeddingsController, 'create', true],
    ['transcriptions', TranscriptionsController, 'create', true],
    ['counting tokens', MessagesController, 'count', false],
  ] as const)('is refused unread where it would be charged: %s', (_route, { prototype }, handler, isCharged) => {
    const rule = Reflect.getMetadata(BODY_RULE, (prototype as unknown as Record<string, object>)[handler]!) as BodyRule;
    expect(rule.isCharged).toBe(isCharged);
  });
});
