/** class-transformer keeps its decorator metadata here and has no public way to read it; the version is pinned. */
declare module 'class-transformer/cjs/storage' {
  type Constructor = new () => object;

  interface PropertyOptions {
    readonly name?: string;
    readonly toClassOnly?: boolean;
    readonly toPlainOnly?: boolean;
    readonly discriminator?: {
      readonly property: string;
      readonly subTypes: readonly { readonly name: string; readonly value: Constructor }[];
    };
    readonly keepDiscriminatorProperty?: boolean;
  }

  interface TypeMetadata {
    readonly typeFunction?: (options: object) => Function;
    readonly options?: PropertyOptions;
  }

  interface TransformMetadata {
    readonly transformFn: (parameters: {
      value: unknown;
      key: string;
      obj: unknown;
      type: number;
      options: object;
    }) => unknown;
  }

  export const defaultMetadataStorage: {
    findTypeMetadata(target: Function, propertyName: string): TypeMetadata | undefined;
    findTransformMetadatas(target: Function, propertyName: string, transformationType: number): TransformMetadata[];
    getExposedMetadatas(target: Function): unknown[];
    getExcludedMetadatas(target: Function): unknown[];
    getStrategy(target: Function): 'excludeAll' | 'exposeAll' | 'none';
  };
}
