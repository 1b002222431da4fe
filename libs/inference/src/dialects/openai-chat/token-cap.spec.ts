import { anEndpoint } from '../../testing';
import { openAiChat } from './dialect';

const older = anEndpoint({ capabilities: { chat: { max_tokens: true } } });

const sentTo = (endpoint: typeof older, caps: object): object => {
  const sent = openAiChat.toUpstream(Buffer.from(JSON.stringify({ model: 'm', ...caps })), endpoint, false);
  const { model, ...rest } = JSON.parse(sent.toString()) as { model: string };
  expect(model).toBe(endpoint.upstreamModel);
  return rest;
};

describe('the cap on the answer of a chat request', () => {
  const both = { max_completion_tokens: 1, max_tokens: 4_000 };

  it('is sent once where two are named, in the member that the endpoint takes', () => {
    expect(sentTo(anEndpoint(), both)).toEqual({ max_completion_tokens: 1 });
    expect(sentTo(older, both)).toEqual({ max_tokens: 1 });
  });

  it('is sent to an endpoint that takes `max_tokens` under that name', () => {
    expect(sentTo(older, { max_completion_tokens: 7 })).toEqual({ max_tokens: 7 });
  });

  it.each([{ max_completion_tokens: 7 }, { max_tokens: 7 }, { max_completion_tokens: null, max_tokens: 7 }])(
    'stays as it is where one is named: %j',
    (caps) => {
      expect(sentTo(anEndpoint(), caps)).toEqual(caps);
    },
  );
});
