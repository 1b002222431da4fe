import type { AnswerContext } from '../dialects/dialect';
import { aModel, anEndpoint } from './catalogue-fixture';

/** The context of an answer at the standard prices of an endpoint, which is the only one of its model. */
export function anAnswerContext(values: Partial<AnswerContext> = {}): AnswerContext {
  const endpoint = values.endpoint ?? anEndpoint();
  return {
    generationId: 'gen-1',
    model: aModel({ endpoints: [endpoint] }),
    endpoint,
    priceList: 'standard',
    beganMs: 0,
    requestBody: Buffer.from('{}'),
    ...values,
  };
}
