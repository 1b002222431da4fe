import { AppError } from '@libs/errors';
import type { FilePart, ReadFile } from '@libs/inference';
import { refusal, type Fields, listOf } from '../server-tools/named-tools';
import { SettingsReader } from '../server-tools/web-settings';
import type { FileReader } from './file-reader';
import type { BoundPlugin, Plugin, PluginContext, Preparation } from './plugin';
import type { RequestBody } from './request-body';

/** The API has two names for one engine, which reads the text of a file but no text inside pictures. */
const ENGINES = ['native', 'pdf-text', 'cloudflare-ai'] as const;
type PdfEngine = (typeof ENGINES)[number];

const MOST_FILES = 20;
const STAGE = { type: 'plugin', name: 'file-parser' } as const;

/** Replaces PDF and text files by their text, for models that do not read files. */
export class FileParserPlugin implements Plugin {
  readonly id = 'file-parser';

  constructor(private readonly files: FileReader) {}

  bind(settings: Fields, path: string): BoundPlugin {
    const pdf = new SettingsReader(settings, path).object('pdf');
    const engine = pdf?.oneOf('engine', ENGINES) ?? null;
    const replacesFiles = (context: PluginContext): boolean => isForText(engine, context);
    const prepare = async (body: RequestBody, context: PluginContext): Promise<Preparation | null> =>
      replacesFiles(context) ? await this.#prepare(body, context) : null;
    return { stage: STAGE, replacesFiles, prepare };
  }

  async #prepare(body: RequestBody, context: PluginContext): Promise<Preparation | null> {
    const work = new FileWork(this.files, body, context);
    const turns: Fields[] = [];
    for (const [index, turn] of body.turns.entries()) turns.push(await work.readTurn(turn, index));
    if (work.count === 0) return null;
    return {
      body: body.withTurns(turns),
      files: work.files,
      stage: {
        ...STAGE,
        summary: `engine=pdf-text, files=${work.count}`,
        data: { engine: 'pdf-text', files: work.count },
      },
    };
  }
}

function isForText(engine: PdfEngine | null, { model }: PluginContext): boolean {
  const readsFiles = model?.architecture.inputModalities.includes('file') ?? true;
  return engine !== 'native' && (engine !== null || !readsFiles);
}

/** Processes the files of one request, one after another. */
class FileWork {
  count = 0;
  /** The files that were read, for APIs whose answers can hold them. */
  readonly files: ReadFile[] = [];
  /** Texts of files that the caller sent back, by hash; null for other APIs. */
  readonly #known: ReadonlyMap<string, string> | null;

  constructor(
    private readonly reader: FileReader,
    private readonly body: RequestBody,
    private readonly context: PluginContext,
  ) {
    const known = body.readFiles;
    this.#known = known && new Map(known.map(({ hash, text }) => [hash, text]));
  }

  async readTurn(asked: Fields, index: number): Promise<Fields> {
    const turn = this.body.withoutReadFiles(asked);
    if (!Array.isArray(turn['content'])) return turn;
    const content: Fields[] = [];
    for (const [at, part] of listOf(turn['content']).entries()) {
      const file = this.body.fileOf(part);
      const read = file === null ? null : await this.#read(file, this.body.pathOf(index, at));
      content.push(read === null ? part : this.body.textPart(read));
    }
    return { ...turn, content };
  }

  async #read(file: FilePart, path: string): Promise<string> {
    this.count += 1;
    if (this.count > MOST_FILES) throw refusal(path, `is one more than the ${MOST_FILES} files that are read`);
    try {
      const { text, hash } = await this.reader.read(file, this.context, this.#known);
      if (hash !== null) this.files.push({ hash, name: file.name, text });
      return `<file name="${nameOf(file)}">\n${text}\n</file>`;
    } catch (error) {
      this.context.signal.throwIfAborted();
      if (!(error instanceof AppError)) throw error;
      const { code, message, retryAfterSeconds } = error;
      throw new AppError(code, `${path}: ${message}`, { metadata: { param: path }, retryAfterSeconds, cause: error });
    }
  }
}

function nameOf({ name }: FilePart): string {
  return (name ?? 'file').replace(/["<>\p{Cc}]/gu, '_').slice(0, 256);
}
