export * from 'idiomorph';
