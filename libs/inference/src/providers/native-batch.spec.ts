import { describeBatchConformance } from './testing/batch-conformance';

for (const protocol of ['openai', 'azure', 'anthropic', 'google', 'mistral']) describeBatchConformance(protocol);
