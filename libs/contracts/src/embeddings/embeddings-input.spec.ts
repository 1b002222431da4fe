import { countEmbeddingsInputs, findEmbeddingsInputProblem } from './embeddings-input';

const PICTURE = 'data:image/png;base64,iVBORw0KGgo=';
const image = (url: unknown): object => ({ type: 'image_url', image_url: { url } });
const content = (...parts: unknown[]): unknown[] => [{ content: parts }];
const PART = '[0].content[0]';

describe(findEmbeddingsInputProblem.name, () => {
  it.each([
    ['a text', 'words'],
    ['the same text twice', ['words', 'words']],
    ['token ids', [0, 100_257]],
    ['lists of token ids', [[1], [2, 3]]],
    ['a picture and what it shows', content({ type: 'text', text: 'a cat' }, image(PICTURE))],
    ['a link', content(image('https://pictures.example/cat.png'))],
    ['a sound', content({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } })],
    ['a film by its link', content({ type: 'input_video', input_video: { data: 'https://films.example/cat.mp4' } })],
    ['a file', content({ type: 'input_file', input_file: { data: 'data:application/pdf;base64,AAAA' } })],
  ])('takes %s', (_what, input) => {
    expect(findEmbeddingsInputProblem(input)).toBeNull();
  });

  it.each([
    ['nothing', undefined, ' must be a non-empty string or array'],
    ['an object', { content: [] }, ' must be a non-empty string or array'],
    ['text and tokens', ['a', 1], '[1] must be a non-empty element of the same kind as the first'],
    ['text and content', [...content(image(PICTURE)), 'a'], '[1] must be a non-empty element of the same kind'],
    ['three levels', [[['a']]], '[0] must be a non-empty element of the same kind as the first'],
    ['no parts', content(), '[0].content must be a non-empty array of parts'],
    ['parts that are one text', [{ content: 'a' }], '[0].content must be a non-empty array of parts'],
    ['too many parts', content(...Array.from({ length: 1_001 }, () => image(PICTURE))), '[0].content has more than'],
    ['a part that is none', content(null), `${PART} must be an object`],
    ['a part of an unknown type', content({ type: 'constructor' }), `${PART}.type must be one of text,`],
    ['an empty text', content({ type: 'text', text: '' }), `${PART}.text must be a non-empty string`],
    ['a picture without a link', content({ type: 'image_url' }), `${PART}.image_url.url must be a URL`],
    ['a link that is none', content(image('cat.png')), `${PART}.image_url.url must be a URL`],
    ['a file of this machine', content(image('file:///etc/passwd')), `${PART}.image_url.url must be an http`],
    ['metadata', content(image('http://169.254.169.254/x')), `${PART}.image_url.url must be on a public host`],
    ['credentials', content(image('https://a:b@example.com/')), `${PART}.image_url.url must not hold credentials`],
    ['broken base64', content(image('data:image/png;base64,A')), `${PART}.image_url.url must be a data URL of whole`],
    [
      'a sound of nothing',
      content({ type: 'input_audio', input_audio: { data: '' } }),
      `${PART}.input_audio.data must`,
    ],
    ['no sound', content({ type: 'input_audio', input_audio: 'AAAA' }), `${PART}.input_audio must be an object`],
    ['a number for a format', content({ type: 'input_file', input_file: { data: 'AAAA', format: 1 } }), 'format must'],
  ])('says what is wrong with %s', (_what, input, problem) => {
    expect(findEmbeddingsInputProblem(input)).toContain(problem);
  });

  it('judges a long word at once', () => {
    expect(findEmbeddingsInputProblem('x'.repeat(5_000_000))).toBeNull();
    expect(findEmbeddingsInputProblem(content(image(`data:image/png;base64,${'A'.repeat(4_000_000)}`)))).toBeNull();
  });
});

describe(countEmbeddingsInputs.name, () => {
  it.each([
    ['a', 1],
    [[1, 2], 1],
    [[[1], [2]], 2],
    [['a', 'a'], 2],
    [[{ content: [] }], 1],
  ])('counts the embeddings of %j', (input, count) => {
    expect(countEmbeddingsInputs(input)).toBe(count);
  });
});
