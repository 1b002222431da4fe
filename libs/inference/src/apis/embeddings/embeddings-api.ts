import { countEmbeddingsInputs, EmbeddingsDto } from '@libs/contracts';
import { embeddingsCallsAt } from '../../dialects/embeddings-limits';
import { longestInputTokens } from '../../dialects/openai-embeddings/inputs';
import { NO_THINKING_WISH } from '../../model/expected-output';
import type { ApiDefinition } from '../api-definition';
import { inputTurns } from '../content-input';

/** `POST /embeddings`. */
export const embeddingsApi: ApiDefinition = {
  name: 'embeddings',
  body: EmbeddingsDto,
  generates: false,
  cutsLongPrompts: false,
  hasDefaultModel: false,
  hasFallbacks: false,
  outputOf: ({ input }) => ({
    maxTokens: null,
    answers: countEmbeddingsInputs(input as string | readonly unknown[]),
    thinking: NO_THINKING_WISH,
  }),
  toolUsesOf: () => [],
  callsAt: embeddingsCallsAt,
  uncappedTokensAt: () => 0,
  // Each input may fill the model's context, so only the longest one counts.
  contextTokensOf: longestInputTokens,
  endUserOf: ({ user }) => user,
  contentInputOf: ({ input }) => inputTurns(input, []),
};
