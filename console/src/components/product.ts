/** The name of the product, which is shown beside its mark. */
export const PRODUCT = 'Admit';
