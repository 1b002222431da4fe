import { mintId } from '@libs/contracts';
import { CHAT_ANSWER } from '../inference/testing/answers';
import { InferenceApp } from '../inference/testing/inference-app';
import { GenerationsController } from './generations.controller';

const HELLO = { model: 'test/chat', messages: [{ role: 'user', content: 'Hello!' }] };

describe(GenerationsController.name, () => {
  let app: InferenceApp;
  let id: string;

  beforeAll(async () => {
    app = await InferenceApp.start();
    app.answer = (_request, response) => void response.end(JSON.stringify(CHAT_ANSWER));
    const response = await app.post('chat/completions', HELLO);
    await response.body?.cancel();
    id = response.headers.get('x-generation-id')!;
    await app.recorder.flush();
  });

  afterAll(() => app.close());

  const get = (query: string, key = app.key): Promise<Response> =>
    fetch(`${app.url}/generation${query}`, { headers: { authorization: `Bearer ${key}` } });

  it('tells what became of a call', async () => {
    const response = await get(`?id=${id}`);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({
      data: expect.objectContaining({
        id,
        api_type: 'completions',
        model: 'test/chat',
        provider_name: 'Test',
        upstream_id: 'upstream-1',
        workspace_id: 'workspace',
        created_at: '2025-11-21T09:00:00.000Z',
        streamed: false,
        cancelled: false,
        finish_reason: 'stop',
        tokens_prompt: 10,
        tokens_completion: 5,
        native_tokens_reasoning: 0,
        total_cost: 0.00002,
        usage: 0.00002,
        is_byok: false,
        latency: expect.any(Number),
        generation_time: expect.any(Number),
      }),
    });
  });

  it('has every member of the interface', async () => {
    const { data } = (await (await get(`?id=${id}`)).json()) as { data: object };
    for (const member of MEMBERS) expect(data).toHaveProperty(member);
  });

  it('knows no call that is not there, and none of another workspace', async () => {
    const unknown = mintId('gen');
    for (const path of [`?id=${unknown}`, '?id=gen-1', '?id=gen-99999999999-00000000000000000000', `?id=x${id}`]) {
      const response = await get(path);
      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({ error: { code: 404, message: 'Generation not found' } });
    }
    expect((await get(`?id=${id}`, app.foreignKey)).status).toBe(404);
    expect((await get(`?id=${id}`)).status).toBe(200);
  });

  it.each(['', '?id=', '?id=a&id=b', '?other=1'])('needs one id and not %j', async (query) => {
    const response = await get(query);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { metadata: { param: 'id' } } });
  });

  it('asks for a key', async () => {
    expect((await fetch(`${app.url}/generation?id=${id}`)).status).toBe(401);
    expect((await get(`?id=${id}`, app.managementKey)).status).toBe(403);
  });
});

const MEMBERS = `api_type app_id cache_discount cancelled created_at data_region external_user finish_reason
  generation_time http_referer id is_byok latency model moderation_latency native_finish_reason
  native_tokens_cached native_tokens_completion native_tokens_completion_images native_tokens_prompt
  native_tokens_reasoning num_fetches num_input_audio_prompt num_media_completion num_media_prompt
  num_search_results origin preset_id provider_name provider_responses router service_tier streamed
  tokens_completion tokens_prompt total_cost upstream_id upstream_inference_cost usage user_agent
  web_search_engine workspace_id`.split(/\s+/);
