import { ResponsesDto } from '@libs/contracts';
import { openAiResponsesTranslation } from '../../dialects/openai-responses';
import { usesOfResponse } from '../../model/allowed-uses';
import { compactionsOfResponse } from '../../model/compaction';
import { readExpectedOutput, uncappedTokens, type OutputMembers } from '../../model/expected-output';
import type { ConversationApi } from '../api-definition';
import { inputTurns, systemTurn } from '../content-input';
import { openAiFile } from '../file-part';
import { responseAnswer } from './response-answer';
import { responseFailure, responseStream } from './response-events';

const OUTPUT: OutputMembers = { caps: ['max_output_tokens'], thinking: ['reasoning'] };

/** `POST /responses`. */
export const responsesApi: ConversationApi = {
  name: 'responses',
  body: ResponsesDto,
  generates: true,
  hasDefaultModel: true,
  hasFallbacks: false,
  outputOf: (body) => readExpectedOutput(body, OUTPUT),
  toolUsesOf: (body) => [...usesOfResponse(body), ...compactionsOfResponse(body)],
  uncappedTokensAt: uncappedTokens,
  contextTokensOf: (_body, promptTokens) => promptTokens,
  endUserOf: ({ safety_identifier: identifier, user }) => identifier ?? user,
  contentInputOf: ({ input, instructions }) => inputTurns(input, systemTurn(instructions)),
  caller: openAiResponsesTranslation.caller,
  turns: {
    member: 'input',
    textType: 'input_text',
    fileOf: (part) => (part['type'] === 'input_file' ? openAiFile(part) : null),
  },
  answer: responseAnswer,
  stream: responseStream,
  tools: {
    callerTypes: new Set([undefined, 'function', 'custom', 'namespace']),
    takesPlainNames: true,
    leavesPlainNames: true,
    countsUses: () => true,
    showsItems: true,
    failsWhole: false,
  },
  untranslatable: ['prompt'],
  cutsLongPrompts: true,
  failureEvents: responseFailure,
};
