import { AppError } from '@libs/errors';
import {
  Cancellation,
  emptyUsage,
  LeftoverReads,
  type Cost,
  type InferenceResult,
  type RoutedRequest,
} from '@libs/inference';
import { anEndpoint } from '@libs/inference/testing';
import { outsideWork } from '../parsers/testing/outside-work';
import { ImageGenerationTool } from './image-generation.tool';
import type { ToolContext } from './server-tool';

const MODELS = ['paint/one', 'paint/two'];
const PICTURE = 'data:image/png;base64,iVBORw0K';

const PRICE: Cost = { totalCost: 40n, promptCost: 0n, completionCost: 40n };

function painter(message: object | AppError, models: readonly string[] = MODELS, cost = PRICE) {
  const asked: (RoutedRequest & { parsed: Record<string, unknown> })[] = [];
  const answer = async (_api: unknown, request: RoutedRequest): Promise<InferenceResult> => {
    asked.push({ ...request, parsed: JSON.parse(request.body.toString()) as Record<string, unknown> });
    if (message instanceof AppError) throw message;
    const body = Buffer.from(JSON.stringify({ choices: [{ message }] }));
    const usage = { ...emptyUsage('upstream'), promptTokens: 9, completionTokens: 1_290 };
    return { body, cost, usage, endpoint: anEndpoint(), credential: null } as unknown as InferenceResult;
  };
  return {
    tool: new ImageGenerationTool({
      engine: { answer },
      imageModels: () => models,
      mostTokens: () => 2_000,
      picturePicoUsd: (_model, promptTokens) => BigInt(promptTokens),
    }),
    asked,
  };
}

const context = (signal: AbortSignal = new AbortController().signal): ToolContext => ({
  caller: { organizationId: 'acme', workspaceId: 'w', keyHash: 'k' } as ToolContext['caller'],
  generationId: 'gen-1',
  ...outsideWork({ signal }),
  cancellation: Cancellation.following(signal),
});

describe(ImageGenerationTool.name, () => {
  it('asks the model that the request names, with all other settings', async () => {
    const { tool, asked } = painter({ images: [{ image_url: { url: PICTURE } }] });
    const bound = tool.bind({ model: 'paint/two', aspect_ratio: '1:1' }, 'p');
    const outcome = await bound.run({ prompt: 'A cat' }, context());
    expect(asked).toMatchObject([
      {
        model: 'paint/two',
        outputModalities: ['image'],
        parsed: {
          messages: [{ role: 'user', content: 'A cat' }],
          modalities: ['image', 'text'],
          image_config: { aspect_ratio: '1:1' },
        },
      },
    ]);
    expect(outcome).toMatchObject({
      isError: false,
      item: { prompt: 'A cat', result: 'iVBORw0K', imageB64: 'iVBORw0K' },
      images: [PICTURE],
      costPicoUsd: 40n,
    });
  });

  it('records the call to the model, whether or not it brings a picture', async () => {
    for (const message of [{ images: [{ image_url: { url: PICTURE } }] }, {}]) {
      const outcome = await painter(message).tool.bind({}, 'p').run({ prompt: 'A cat' }, context());
      const { provider, upstreamModel } = anEndpoint();
      expect(outcome.asked).toEqual({
        provider: provider.slug,
        model: upstreamModel,
        promptTokens: 9,
        completionTokens: 1_290,
        costUsd: '0.00000000004',
      });
    }
  });

  it('asks only providers that the data rules of the request allow', async () => {
    const { tool, asked } = painter({ images: [{ image_url: { url: PICTURE } }] });
    await tool.bind({}, 'p').run({ prompt: 'A cat' }, { ...context(), preferences: { zdr: true } });
    expect(asked[0]).toMatchObject({ preferences: { zdr: true } });
  });

  it('reserves the prompt that the model wrote, and caps the answer at what is reserved for it', async () => {
    const { tool, asked } = painter({ images: [{ image_url: { url: PICTURE } }] });
    const bound = tool.bind({}, 'p');
    const reservedFor = bound.mostPicoUsd as (args: unknown) => bigint;
    expect(reservedFor({ prompt: 'cats and dogs '.repeat(2_000) })).toBeGreaterThan(5_000n);
    expect(reservedFor({ prompt: 'x'.repeat(32_001) })).toBe(0n);
    await bound.run({ prompt: 'A cat' }, context());
    expect(asked[0]!.parsed['max_tokens']).toBe(2_000);
    expect(asked[0]!.expected!().maxTokens).toBe(2_000);
  });

  it('reserves its settings, and refuses more than 16 KiB of them before anything is written or asked', () => {
    const { tool } = painter({});
    const reservedFor = (settings: object): bigint =>
      (tool.bind({ ...settings }, 'p').mostPicoUsd as (args: unknown) => bigint)({ prompt: 'A cat' });
    const large = reservedFor({ style: 'word '.repeat(3_000) });
    expect(large - reservedFor({})).toBeGreaterThan(2_000n);
    expect(() => tool.bind({ style: 'é'.repeat(8_300) }, 'tools[0].parameters')).toThrow(
      'tools[0].parameters must have at most 16384 bytes of settings as JSON, beside model',
    );
  });

  it('writes its settings once, however often it is used', async () => {
    const { tool, asked } = painter({ images: [{ image_url: { url: PICTURE } }] });
    let written = 0;
    const style = { toJSON: () => (written += 1) };
    const bound = tool.bind({ style }, 'p');
    for (let use = 0; use < 3; use += 1) {
      (bound.mostPicoUsd as (args: unknown) => bigint)({ prompt: 'A cat' });
      await bound.run({ prompt: 'A "cat"' }, context());
    }
    expect(written).toBe(1);
    expect(asked.map(({ parsed }) => parsed['image_config'])).toEqual([{ style: 1 }, { style: 1 }, { style: 1 }]);
    expect(asked[0]!.parsed['messages']).toEqual([{ role: 'user', content: 'A "cat"' }]);
  });

  it('holds memory for the pictures that it brings, and brings none where there is no room', async () => {
    const { tool } = painter({ images: [{ image_url: { url: PICTURE } }] });
    const within = context();
    const add = jest.spyOn(within.memory, 'add');
    await tool.bind({}, 'p').run({ prompt: 'A cat' }, within);
    expect(add).toHaveBeenCalledWith(PICTURE.length * 5);
    add.mockRejectedValue(new AppError('provider_overloaded', 'The service is overloaded'));
    const outcome = await tool.bind({}, 'p').run({ prompt: 'A cat' }, within);
    expect(outcome).toMatchObject({ isError: true, item: { prompt: 'A cat' }, costPicoUsd: 40n });
    expect(outcome.images).toBeUndefined();
  });

  it('takes the first model of the catalogue, and a link for a picture', async () => {
    const { tool, asked } = painter({ images: [{ image_url: { url: 'https://a.example/cat.png' } }] });
    const outcome = await tool.bind({}, 'p').run({ prompt: 'A cat' }, context());
    expect(asked[0]!.model).toBe('paint/one');
    expect(outcome.item).toMatchObject({ imageUrl: 'https://a.example/cat.png', result: null });
  });

  it('takes the model that the workspace has set where the request names none', async () => {
    const { tool, asked } = painter({ images: [{ image_url: { url: PICTURE } }] });
    const surroundings = { deferred: [], imageModel: 'paint/two' };
    await tool.bind({}, 'p', surroundings).run({ prompt: 'A cat' }, context());
    await tool.bind({ model: 'paint/one' }, 'p', surroundings).run({ prompt: 'A cat' }, context());
    expect(asked.map(({ model }) => model)).toEqual(['paint/two', 'paint/one']);
    expect(() => tool.bind({}, 'p', { deferred: [], imageModel: 'paint/none' })).toThrow('p.model');
  });

  it('charges for an answer without a picture, and says that there is none', async () => {
    const outcome = await painter({ content: 'No.' }).tool.bind({}, 'p').run({ prompt: 'A cat' }, context());
    expect(outcome).toMatchObject({ isError: true, costPicoUsd: 40n });
  });

  it('charges the fee for a picture made with a key of the caller, and reports its list price', async () => {
    const { tool } = painter({ images: [{ image_url: { url: PICTURE } }] }, MODELS, {
      totalCost: 2n,
      promptCost: 0n,
      completionCost: 40n,
      upstreamCost: 40n,
      byokFee: 2n,
    });
    expect(await tool.bind({}, 'p').run({ prompt: 'A cat' }, context())).toMatchObject({
      costPicoUsd: 2n,
      ownKey: { upstreamCost: 40n, byokFee: 2n },
    });
  });

  it('has the provider paint on within the terms of callers who have left', async () => {
    const { tool, asked } = painter({ images: [{ image_url: { url: PICTURE } }] });
    const leaving = new Cancellation(new LeftoverReads().termsFor('acme'));
    const within = { ...context(leaving.toAbortSignal()), cancellation: leaving };
    const painting = tool.bind({}, 'p').run({ prompt: 'A cat' }, within);
    leaving.leave();
    expect(asked[0]!.signal.leaveTerms).toMatchObject({ begin: expect.any(Function) });
    expect(await painting).toMatchObject({ costPicoUsd: 40n });
  });

  it('tells the model when no provider made it', async () => {
    const { tool } = painter(new AppError('provider_overloaded', 'The provider is overloaded'));
    expect(await tool.bind({}, 'p').run({ prompt: 'A cat' }, context())).toMatchObject({
      isError: true,
      costPicoUsd: 0n,
    });
  });

  it('ends with the request', async () => {
    const { tool } = painter(new AppError('request_timeout', 'Gone'));
    await expect(tool.bind({}, 'p').run({ prompt: 'A cat' }, context(AbortSignal.abort()))).rejects.toMatchObject({
      code: 'request_timeout',
    });
  });

  it.each([
    ['tools[0].parameters.model', { model: 'chat/only' }, MODELS],
    ['tools[0].parameters', {}, []],
  ])('refuses %s of %j', (path, parameters, models) => {
    const { tool } = painter({}, models);
    expect(() => tool.bind(parameters, 'tools[0].parameters')).toThrow(path);
  });
});
