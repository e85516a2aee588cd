"""Tool definitions for model providers: conversion to their subsets of JSON Schema and back."""
