import { OpenAiProvider } from './openai.provider';
import { describeConformance } from './testing/conformance';
import { UpstreamHttp } from '../wire/upstream-http';

describeConformance('openai');
describeConformance('openai', 'responses');

describe(OpenAiProvider.name, () => {
  it('offers chat, responses and embeddings, and no API that the protocol does not have', () => {
    const provider = new OpenAiProvider(new UpstreamHttp());
    const offered = ['chat', 'chatStream', 'responses', 'responsesStream', 'embed', 'messages', 'countTokens'].filter(
      (method) => method in provider,
    );
    expect(offered).toEqual(['chat', 'chatStream', 'responses', 'responsesStream', 'embed']);
  });

  it('bounds its batches by requests and by what they embed', () => {
    expect(new OpenAiProvider(new UpstreamHttp()).batch).toMatchObject({ mostLines: 50_000, mostInputs: 50_000 });
  });
});
