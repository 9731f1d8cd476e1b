declare module 'virtual:field-rules' {
  /** The JSON Schemas of the OpenAPI document, by their names. */
  const schemas: Record<string, unknown>;
  export default schemas;
}
